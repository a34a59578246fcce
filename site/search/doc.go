// Package search picks services: by words of their names and by what they do, by the columns of a snapshot, and the best
// for one need, with reasons. It must never know where files are stored or how a page is cut.
//
// # Names
//
// A name is folded and split into words. A query matches if each of its words begins a word of the name.
//
// # Full text
//
// Terms turns a text into terms: the stems of its words, and the concepts that its phrases name. A build weighs the
// terms of each service with a Weigher. Find reads those weights. It computes with integers alone, so that the same
// steps in JavaScript (search.js, with the tables of Tables) give the same result:
//
//  1. Fold the query. Split it into runs of letters and digits. Split a run further where Han, Kana and Hangul begin
//     or end. Drop stop words. Cut a run of Han, Kana or Hangul into pairs of neighbouring characters, the last
//     character alone. Each pair is a word and its own stem. Cut any other run to 32 characters. It is a word, and Stem
//     returns its stem.
//  2. From left to right, divide the words into units. At each word take the longest phrase whose stems follow each
//     other there and whose concept's term some service has. It is a unit with one posting, read as a synonym. Behind
//     the first word of a phrase, a word follows "to" in the query if and only if it does in the phrase ("to " and the
//     stem, in the tables). Without such a phrase the word is a unit. Its posting is that of its stem, read as exact.
//  3. If no service has the stem of the last word, and the word has two characters or more, it is read as a prefix. Its
//     postings are those of all words' terms that begin with it. If letters at its end begin a suffix of SuffixRules
//     (not all of the suffix), complete the suffix: the posting of the new word's stem is one more. If it has three
//     characters or more, so are those of all concepts with a phrase of one word whose stem begins with it.
//  4. A word without a posting is unknown. If it has five letters or more, all in a-z, read the vocabulary and replace
//     the word by the best word that one edit makes of it: two neighbouring letters exchanged, a letter removed,
//     replaced or inserted. The number of an edited word is that of its stem in the vocabulary. It is 1 if the
//     vocabulary does not have the stem and a phrase begins with it. Words with 0 and stop words are left out. The best
//     word begins with the same letter, if any does. Of those it has the largest number, then it is the first by the
//     alphabet. If a word was replaced, repeat steps 2 and 3 with the new words, once.
//  5. Drop units without a posting, and units whose first posting is that of a unit before. The IDF of a unit is the
//     largest of its postings'. A service has the unit if it is in one of the postings. Its score for the unit is the
//     largest of weight × IDF over these.
//  6. A unit of a concept also has the postings of its words' stems, as far as they exist. W is the sum of their IDFs.
//     A service's share is the sum of weight × IDF over those that it is in, divided by 4 and rounded down. It is added
//     to the score. A service without the unit has only the share, if the IDFs of the words that it has are at least
//     half of W.
//  7. The score of a service is the sum over the units. A service is a hit if it has a unit of a concept. It is also a
//     hit if enough of the query matches: take the IDFs of the units that it has, and half of the IDF of each unit of
//     which it has only a share; their sum must be at least half of the IDFs of all units. Hits are sorted by score,
//     the highest first, then by place. Relevance is score × 1000 / (100 × C), rounded down. C is the sum of all
//     units' IDFs, and of W / 4, rounded down, for each unit of a concept.
//
// Terms goes over a text in the same way. A reader needs it only to say which members of a row match. It returns all
// stems, then concepts: at each word that of the longest phrase, and it continues behind the phrase. Without one it
// takes the longest phrase of two or more words that has one other word inside, and continues at the next word. It does
// this again for the text with spaces where camel case separates words, and appends the terms that are new.
package search
