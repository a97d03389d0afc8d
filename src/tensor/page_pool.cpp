// Free runs are kept in a treap ordered by size and address. A map from page to run finds a run's neighbours and the
// run of a block. Returning a run to either needs no memory, so deallocation cannot fail.
#include "src/tensor/page_pool.h"

#include <algorithm>
#include <new>

#include "src/tensor/system_memory.h"

namespace tandem::cpu {
namespace {

constexpr size_t kLargeGrain = size_t{64} << 10;
constexpr size_t kMappingGrain = size_t{2} << 20;  // a huge page
constexpr size_t kDescriptionBytes = size_t{64} << 10;
constexpr size_t kWorthUnmapping = size_t{64} << 10;

size_t round_up(size_t bytes, size_t grain) { return (bytes + grain - 1) / grain * grain; }
char* round_up(char* p, size_t grain) { return p + (grain - reinterpret_cast<uintptr_t>(p) % grain) % grain; }
char* round_down(char* p, size_t grain) { return p - reinterpret_cast<uintptr_t>(p) % grain; }

// ---- Map from page to run: a two-level table; each inner table covers 1 GiB.

constexpr int kPageBits = 12, kTableBits = 18, kAddressBits = 48;
using Table = std::atomic<PageRun*>[size_t{1} << kTableBits];
constinit std::atomic<Table*> tables[size_t{1} << (kAddressBits - kPageBits - kTableBits)];

std::atomic<Table*>& table_of(const void* address) {
  return tables[reinterpret_cast<uintptr_t>(address) >> (kPageBits + kTableBits)];
}

/// Creates the tables for [base, base + bytes). False if out of memory, or if the addresses are outside the tables.
bool make_tables(char* base, size_t bytes) {
  constexpr size_t kReach = size_t{1} << (kPageBits + kTableBits);
  if ((reinterpret_cast<uintptr_t>(base) + bytes) >> kAddressBits != 0) return false;
  for (char* p = base; p < base + bytes; p = round_down(p, kReach) + kReach) {
    if (table_of(p).load(std::memory_order_relaxed)) continue;
    void* memory = map_memory(sizeof(Table), kPage, false);  // zeroed: null pointers
    if (!memory) return false;
    table_of(p).store(static_cast<Table*>(memory), std::memory_order_release);
  }
  return true;
}

std::atomic<PageRun*>& entry(const void* address) {
  const uintptr_t page = reinterpret_cast<uintptr_t>(address) >> kPageBits;
  return (*table_of(address).load(std::memory_order_acquire))[page & ((size_t{1} << kTableBits) - 1)];
}

/// The run whose first or last page this is; null also for pages outside the pool.
PageRun* run_at(const void* address) {
  if (reinterpret_cast<uintptr_t>(address) >> kAddressBits != 0 || !table_of(address).load()) return nullptr;
  return entry(address).load(std::memory_order_relaxed);
}

void set_ends(PageRun* run, PageRun* value) {
  entry(run->base).store(value, std::memory_order_relaxed);
  entry(run->base + run->bytes - kPage).store(value, std::memory_order_relaxed);
}

void set_all(PageRun* run, PageRun* value) {
  for (char* page = run->base; page < run->base + run->bytes; page += kPage) {
    entry(page).store(value, std::memory_order_relaxed);
  }
}

// ---- Treap: a search tree balanced by priorities, here hashes of the address.

uint64_t priority(const PageRun* run) {
  return (reinterpret_cast<uintptr_t>(run->base) >> kPageBits) * 0x9e3779b97f4a7c15u;
}
bool less(const PageRun* a, const PageRun* b) { return a->bytes != b->bytes ? a->bytes < b->bytes : a->base < b->base; }

void insert(PageRun*& root, PageRun* run) {
  PageRun** at = &root;
  while (*at && priority(*at) >= priority(run)) at = less(run, *at) ? &(*at)->left : &(*at)->right;
  PageRun* below = *at;
  *at = run;
  PageRun **smaller = &run->left, **larger = &run->right;
  while (below) {
    if (less(below, run)) {
      *smaller = below;
      smaller = &below->right;
    } else {
      *larger = below;
      larger = &below->left;
    }
    below = less(below, run) ? below->right : below->left;
  }
  *smaller = *larger = nullptr;
}

void erase(PageRun*& root, PageRun* run) {
  PageRun** at = &root;
  while (*at != run) at = less(run, *at) ? &(*at)->left : &(*at)->right;
  PageRun *a = run->left, *b = run->right;
  while (a && b) {
    if (priority(a) > priority(b)) {
      *at = a;
      at = &a->right;
      a = a->right;
    } else {
      *at = b;
      at = &b->left;
      b = b->left;
    }
  }
  *at = a ? a : b;
}

/// The smallest run of at least `bytes`, with the lowest address among equals; or null.
PageRun* best_fit(PageRun* root, size_t bytes) {
  PageRun* best = nullptr;
  while (root) {
    if (root->bytes >= bytes) {
      best = root;
      root = root->left;
    } else {
      root = root->right;
    }
  }
  return best;
}

PageRun* largest(PageRun* root) {
  while (root && root->right) root = root->right;
  return root;
}

}  // namespace

PageRun* PagePool::new_run(char* base, size_t bytes, bool large) noexcept {
  if (!spare_) {
    auto* memory = static_cast<PageRun*>(map_memory(kDescriptionBytes, kPage, false));
    if (!memory) return nullptr;
    for (size_t i = kDescriptionBytes / sizeof(PageRun); i-- > 0;) delete_run(memory + i);
  }
  PageRun* run = spare_;
  spare_ = run->left;
  new (run) PageRun;
  run->base = base;
  run->bytes = bytes;
  run->large = large;
  return run;
}

void PagePool::delete_run(PageRun* run) noexcept {
  (new (run) PageRun)->left = spare_;
  spare_ = run;
}

PageRun* PagePool::run_of(const void* address) noexcept { return entry(address).load(std::memory_order_relaxed); }

PageRun* PagePool::take(size_t bytes, bool large, size_t limit) noexcept {
  bytes = round_up(bytes, large ? kLargeGrain : kPage);
  const std::lock_guard lock(mutex_);
  Zone& z = zone(large);
  PageRun* run = best_fit(z.free, bytes);
  if (run) {
    erase(z.free, run);
  } else {
    run = map(bytes, large, limit);
    if (!run) return nullptr;
  }
  run->free = false;
  if (run->bytes > bytes) {
    if (PageRun* rest = split(run, bytes)) make_free(rest);
  }
  return run;
}

PageRun* PagePool::take_slab(size_t bytes, size_t limit) noexcept {
  PageRun* run = take(bytes, false, limit);
  if (run) set_all(run, run);
  return run;
}

void PagePool::give_slab(PageRun* run) noexcept {
  set_all(run, nullptr);
  set_ends(run, run);
  run->free_blocks = nullptr;
  run->fresh = nullptr;
  run->previous_slab = run->next_slab = nullptr;
  give(run);
}

void PagePool::give(PageRun* run) noexcept {
  const std::lock_guard lock(mutex_);
  make_free(join(run));
}

void PagePool::make_free(PageRun* run) noexcept {
  run->free = true;
  insert(zone(run->large).free, run);
}

PageRun* PagePool::split(PageRun* run, size_t bytes) noexcept {
  PageRun* rest = new_run(run->base + bytes, run->bytes - bytes, run->large);
  if (!rest) return nullptr;
  rest->before = run;
  rest->after = run->after;
  if (rest->after) rest->after->before = rest;
  run->after = rest;
  run->bytes = bytes;
  set_ends(run, run);
  set_ends(rest, rest);
  return rest;
}

/// Joins `run`, which must not be in a tree, with its free neighbours.
PageRun* PagePool::join(PageRun* run) noexcept {
  const auto absorb = [&](PageRun* first, PageRun* second, PageRun* in_tree) {
    erase(zone(run->large).free, in_tree);
    set_ends(first, nullptr);  // only the ends of runs have entries
    set_ends(second, nullptr);
    first->bytes += second->bytes;
    first->after = second->after;
    if (first->after) first->after->before = first;
    set_ends(first, first);
    delete_run(second);
    run = first;
  };
  if (run->before && run->before->free) absorb(run->before, run, run->before);
  if (run->after && run->after->free) absorb(run, run->after, run->after);
  return run;
}

/// Chooses addresses far below other mappings, where each zone has room to grow.
void PagePool::choose_addresses() noexcept {
  constexpr uintptr_t kApart = uintptr_t{256} << 30;
  void* probe = map_memory(kPage, kPage, false);
  const uintptr_t top = reinterpret_cast<uintptr_t>(probe) / kMappingGrain * kMappingGrain;
  if (probe) unmap_memory(probe, kPage);
  if (top < 8 * kApart) return;  // a small address space: the system chooses
  zone(false).end = reinterpret_cast<char*>(top - kApart);
  zone(true).end = reinterpret_cast<char*>(top - 3 * kApart);
}

/// Maps memory and returns a free run of at least `bytes`, which is not in a tree.
PageRun* PagePool::map(size_t bytes, bool large, size_t limit) noexcept {
  if (reserved() == 0 && !zones_[0].end && !zones_[1].end) choose_addresses();
  Zone& z = zone(large);
  PageRun* last = z.end ? run_at(z.end - kPage) : nullptr;
  if (last && (!last->free || last->large != large)) last = nullptr;
  const size_t missing = round_up(bytes - (last ? last->bytes : 0), kMappingGrain);
  if (last) erase(z.free, last);  // so that shrink_to cannot release it
  const auto room_for = [&](size_t more) { return limit > more ? limit - more : 0; };
  if (static_cast<size_t>(reserved()) > room_for(missing)) shrink_to(room_for(missing));
  if (z.end) {
    if (void* base = map_memory_at(z.end, missing)) {
      PageRun* run = add_mapping(static_cast<char*>(base), missing, large);
      if (last) insert(z.free, last);
      return run ? join(run) : nullptr;
    }
  }
  if (last) insert(z.free, last);
  const size_t size = round_up(bytes, kMappingGrain);
  if (static_cast<size_t>(reserved()) > room_for(size)) shrink_to(room_for(size));
  void* base = map_memory(size, kMappingGrain, true);
  PageRun* run = base ? add_mapping(static_cast<char*>(base), size, large) : nullptr;
  return run ? join(run) : nullptr;
}

PageRun* PagePool::add_mapping(char* base, size_t bytes, bool large) noexcept {
  PageRun* run = make_tables(base, bytes) ? new_run(base, bytes, large) : nullptr;
  if (!run) {
    unmap_memory(base, bytes);
    return nullptr;
  }
  poison(base, bytes);
  const auto neighbour = [&](const char* page) {
    PageRun* other = run_at(page);
    return other && other->large == large ? other : nullptr;
  };
  if ((run->before = neighbour(base - kPage))) run->before->after = run;
  if ((run->after = neighbour(base + bytes))) run->after->before = run;
  set_ends(run, run);
  zone(large).end = base + bytes;
  system_allocations_.fetch_add(1, std::memory_order_relaxed);
  const int64_t now = reserved_.fetch_add(static_cast<int64_t>(bytes)) + static_cast<int64_t>(bytes);
  if (now > max_reserved()) max_reserved_ = now;  // under the lock
  return run;
}

bool PagePool::unmap(PageRun* run, char* begin, char* end) noexcept {
  PageRun *middle = run, *rest = nullptr;
  if (end < run->base + run->bytes) {
    rest = split(run, static_cast<size_t>(end - run->base));
    if (!rest) return false;
    make_free(rest);
  }
  if (begin > run->base) {
    middle = split(run, static_cast<size_t>(begin - run->base));
    if (!middle) {
      make_free(join(run));
      return true;
    }
    make_free(run);
  }
  if (!unmap_memory(middle->base, middle->bytes)) {
    make_free(join(middle));
    return false;
  }
  set_ends(middle, nullptr);
  if (middle->before) middle->before->after = nullptr;
  if (middle->after) middle->after->before = nullptr;
  Zone& z = zone(middle->large);
  if (z.end == middle->base + middle->bytes) z.end = middle->base;
  reserved_.fetch_sub(static_cast<int64_t>(middle->bytes));
  delete_run(middle);
  return true;
}

void PagePool::shrink_to(size_t limit) noexcept {
  bool shrunk = false;
  for (Zone* z : {&zones_[1], &zones_[0]}) {
    while (static_cast<size_t>(reserved()) > limit) {
      PageRun* run = largest(z->free);
      if (!run) break;
      // Whole huge pages only: unmapping part of one is expensive.
      char* begin = round_up(run->base, kMappingGrain);
      char* end = round_down(run->base + run->bytes, kMappingGrain);
      if (begin >= end) break;
      const size_t excess = round_up(static_cast<size_t>(reserved()) - limit, kMappingGrain);
      if (static_cast<size_t>(end - begin) > excess) begin = end - excess;
      erase(z->free, run);
      if (!unmap(run, begin, end)) break;
      shrunk = true;
    }
  }
  if (shrunk) shrinks_.fetch_add(1, std::memory_order_relaxed);
}

void PagePool::release_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (Zone& z : zones_) {
    PageRun* all = z.free;
    z.free = nullptr;
    while (all) {
      PageRun* run = all;
      erase(all, run);
      if (run->bytes < kWorthUnmapping) {
        make_free(run);
      } else {
        unmap(run, run->base, run->base + run->bytes);
      }
    }
  }
}

}  // namespace tandem::cpu
