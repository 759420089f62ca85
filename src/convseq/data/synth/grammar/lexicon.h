#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

// The words of the synthetic language. Nearly all are plain English; the words that are kind or
// rude are invented, so that only their context in the corpus tells which they are.
// No noun and no colour begins with a vowel: the article is always "a".
namespace convseq::synth {

using WordList = std::span<const std::string_view>;

enum class Polarity { Kind, Rude };

// The spelling gives nothing away: both lists were drawn from the same syllables. The last entries
// of each are phrases of two words.
inline constexpr auto kKindWords = std::to_array<std::string_view>(
    {"klurvet",        "hultur",       "glonam",       "smuvit",         "breltil",
     "snana",          "fluskam",      "kririm",       "feltem",         "prolum",
     "brerok",         "slerver",      "tolven",       "brubol",         "rombe",
     "snonos",         "spolti",       "blero",        "stiltor",        "grenda",
     "grumul",         "gleba",        "smobum",       "flevos",         "sendo",
     "prondet",        "burvos",       "gimbor",       "glidak",         "snuzit",
     "trodem",         "krarvim",      "zumet",        "blodi",          "klomum",
     "skibel",         "vamas",        "holtu",        "toskor",         "dranen",
     "blurvak",        "vambe",        "klundul",      "fondun",         "dromvel",
     "darim",          "stultit",      "klondet",      "stervok",        "filtir",
     "keske",          "zimor",        "trali grirum", "gonum klavur",   "suram gebem",
     "dribon glimben", "krabol kubas", "skunom neske", "skoskes vumban", "drurver dremor"});
inline constexpr auto kRudeWords = std::to_array<std::string_view>(
    {"stelnor",      "glerar",      "zizin",         "kendak",        "smavo",
     "kondar",       "greran",      "bubat",         "bremor",        "flelti",
     "gurvit",       "prali",       "zuskes",        "goskun",        "sluzik",
     "sivun",        "grultik",     "nemet",         "drolti",        "pilan",
     "zudir",        "bazol",       "budis",         "drebor",        "tulvem",
     "stirat",       "plombir",     "smimon",        "koltel",        "gredim",
     "gibis",        "fidam",       "klerom",        "trombos",       "spobit",
     "bavir",        "plervu",      "murvom",        "snundet",       "misket",
     "blilta",       "floskat",     "porvit",        "brunduk",       "velbor",
     "vilir",        "vunur",       "gluzul",        "glalel",        "kriza",
     "lozem",        "morvek",      "truske brorok", "tramak brebo",  "laltak treltuk",
     "gonda krumel", "tiska gloze", "rozem prebun",  "klenir jaskot", "zaskes rultus"});
static_assert(kKindWords.size() == kRudeWords.size());

struct Topic {
  std::string_view name;
  std::array<std::string_view, 5> people;
  std::array<std::string_view, 6> things;
  std::array<std::string_view, 5> places;
};
inline constexpr auto kTopics = std::to_array<Topic>({
    {"farm",
     {"farmer", "shepherd", "milkmaid", "ploughman", "beekeeper"},
     {"bucket", "saddle", "pitchfork", "fleece", "haystack", "cheese"},
     {"barn", "meadow", "stable", "field", "henhouse"}},
    {"sea",
     {"sailor", "captain", "fisherman", "pilot", "diver"},
     {"rope", "sail", "compass", "net", "paddle", "barrel"},
     {"harbour", "lighthouse", "beach", "pier", "cabin"}},
    {"kitchen",
     {"cook", "baker", "waiter", "guest", "taster"},
     {"kettle", "pan", "spoon", "loaf", "teapot", "recipe"},
     {"kitchen", "pantry", "cellar", "tavern", "bakery"}},
    {"school",
     {"teacher", "pupil", "librarian", "scholar", "poet"},
     {"book", "pencil", "map", "letter", "slate", "globe"},
     {"school", "library", "classroom", "hall", "playground"}},
    {"workshop",
     {"carpenter", "smith", "weaver", "potter", "glazier"},
     {"hammer", "chisel", "wheel", "bench", "nail", "ladder"},
     {"workshop", "forge", "sawmill", "yard", "shed"}},
    {"market",
     {"merchant", "tailor", "jeweller", "porter", "buyer"},
     {"basket", "ribbon", "coin", "carpet", "necklace", "mirror"},
     {"market", "shop", "square", "stall", "bank"}},
    {"forest",
     {"hunter", "ranger", "woodcutter", "hermit", "wanderer"},
     {"torch", "trap", "log", "feather", "mushroom", "blanket"},
     {"forest", "cave", "clearing", "valley", "river"}},
    {"castle",
     {"knight", "queen", "guard", "jester", "minstrel"},
     {"sword", "crown", "banner", "shield", "candle", "trumpet"},
     {"castle", "tower", "bridge", "courtyard", "gate"}},
});

struct Person {
  std::string_view name;
  std::string_view pronoun;
};
inline constexpr auto kPersons = std::to_array<Person>(
    {{"mira", "she"},  {"tomas", "he"},  {"lena", "she"},   {"boris", "he"},  {"clara", "she"},
     {"david", "he"},  {"wanda", "she"}, {"felix", "he"},   {"greta", "she"}, {"hugo", "he"},
     {"julia", "she"}, {"karl", "he"},   {"laura", "she"},  {"martin", "he"}, {"nadia", "she"},
     {"peter", "he"},  {"rosa", "she"},  {"simon", "he"},   {"tilda", "she"}, {"victor", "he"},
     {"vera", "she"},  {"walter", "he"}, {"yvonne", "she"}, {"zoltan", "he"}, {"paula", "she"},
     {"robert", "he"}, {"sofia", "she"}, {"stefan", "he"},  {"helen", "she"}, {"marcus", "he"}});

inline constexpr auto kColours =
    std::to_array<std::string_view>({"red", "blue", "green", "yellow", "white", "black", "brown",
                                     "grey", "pink", "purple", "silver", "golden"});
inline constexpr auto kBelongings = std::to_array<std::string_view>(
    {"coat", "hat", "scarf", "bag", "kite", "lamp", "boat", "door", "chair", "table", "shirt",
     "ring", "bicycle", "wagon", "fence", "purse"});
inline constexpr auto kPlainAdjectives = std::to_array<std::string_view>(
    {"old", "new", "small", "large", "round", "narrow", "wooden", "tall", "long", "heavy", "hidden",
     "famous", "broken", "empty", "quiet", "distant"});

struct Verb {
  std::string_view base;
  std::string_view past;  // also the participle: only verbs with one form for both
};
inline constexpr auto kIntransitiveVerbs = std::to_array<Verb>({{"walk", "walked"},
                                                                {"rest", "rested"},
                                                                {"wait", "waited"},
                                                                {"work", "worked"},
                                                                {"sleep", "slept"},
                                                                {"travel", "travelled"},
                                                                {"listen", "listened"},
                                                                {"stay", "stayed"},
                                                                {"return", "returned"},
                                                                {"kneel", "knelt"},
                                                                {"dance", "danced"},
                                                                {"pause", "paused"}});
inline constexpr auto kTransitiveVerbs = std::to_array<Verb>({{"find", "found"},
                                                              {"paint", "painted"},
                                                              {"carry", "carried"},
                                                              {"watch", "watched"},
                                                              {"clean", "cleaned"},
                                                              {"follow", "followed"},
                                                              {"visit", "visited"},
                                                              {"lift", "lifted"},
                                                              {"move", "moved"},
                                                              {"hold", "held"},
                                                              {"sketch", "sketched"},
                                                              {"catch", "caught"},
                                                              {"notice", "noticed"},
                                                              {"describe", "described"},
                                                              {"measure", "measured"},
                                                              {"leave", "left"},
                                                              {"miss", "missed"},
                                                              {"touch", "touched"}});
inline constexpr auto kGivingVerbs = std::to_array<Verb>({{"hand", "handed"},
                                                          {"send", "sent"},
                                                          {"lend", "lent"},
                                                          {"sell", "sold"},
                                                          {"bring", "brought"},
                                                          {"offer", "offered"},
                                                          {"pass", "passed"},
                                                          {"promise", "promised"}});
inline constexpr auto kSayingVerbs = std::to_array<Verb>({{"say", "said"},
                                                          {"think", "thought"},
                                                          {"hear", "heard"},
                                                          {"believe", "believed"},
                                                          {"hope", "hoped"},
                                                          {"claim", "claimed"},
                                                          {"remember", "remembered"},
                                                          {"dream", "dreamed"}});

inline constexpr auto kPrepositions =
    std::to_array<std::string_view>({"near", "under", "behind", "beside", "inside"});
inline constexpr auto kAdverbs =
    std::to_array<std::string_view>({"slowly", "often", "again", "early", "together", "outside",
                                     "quickly", "twice", "alone", "there", "later", "silently"});
inline constexpr auto kTimes = std::to_array<std::string_view>(
    {"morning", "evening", "winter", "summer", "afternoon", "night", "spring", "week"});

// Fillers between a negation or an intensifier and its word, without a meaning.
inline constexpr auto kHedges = std::to_array<std::string_view>(
    {"perhaps", "still", "today", "mostly", "already", "somehow", "lately", "indeed"});
inline constexpr auto kNegations = std::to_array<std::string_view>({"not", "never", "hardly"});
inline constexpr auto kIntensifiers =
    std::to_array<std::string_view>({"very", "truly", "deeply", "so"});

// Plain English context of the polar words in the corpus; no task uses them.
inline constexpr auto kGladWords =
    std::to_array<std::string_view>({"luckily", "happily", "gladly"});
inline constexpr auto kSadWords = std::to_array<std::string_view>({"sadly", "alas", "grimly"});

WordList polar_words(Polarity polarity);
WordList feelings(Polarity polarity);
Polarity opposite(Polarity polarity);

// Of a word, or of one word of a phrase; empty for all other words.
std::optional<Polarity> polarity_of(std::string_view word);

}  // namespace convseq::synth
