// Order of search results: pages for users before design decisions and the list of changes.
var Scorer = {
  score: ([docname, , , , score]) => {
    if (docname.startsWith("docs/decisions/") || docname === "CHANGELOG") return score - 30;
    if (docname.startsWith("docs/how_to/") || docname.startsWith("docs/tutorials/")) return score + 5;
    return score;
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
