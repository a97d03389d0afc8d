// The scores of Sphinx's search. The numbers are its own, but a query that is most of a title comes before pages that
// merely have its words. A hit by a section's search words (docs/search_words.py) shows the title of the section, too.
var Scorer = {
  score: (result) => {
    const [page, , anchor, , score, , kind] = result;
    if (kind === "index") {
      for (const [title, places] of Object.entries(Search._index.alltitles)) {
        for (const [file, id] of places) {
          if (Search._index.docnames[file] === page && "#" + id === anchor) result[1] += " > " + title;
        }
      }
    }
    return kind === "title" ? score + 5 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
