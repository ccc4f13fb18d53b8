import pandas as pd
import pytest

from scaling.transfer import flag_overlap, label_overlap, normalised_name


@pytest.fixture
def classes(published):
    imagenet = published("imagenet_class_names.csv")
    pets = published("oxford_pets_class_names.csv").set_index("name")
    synonyms = pets["imagenet_synonym"].dropna().to_dict()
    return imagenet["name"].tolist(), imagenet["lemmas"].str.split("; ").tolist(), pets.index.tolist(), synonyms


def test_the_lists_are_whole(classes, published):
    """1000 classes in the order of their synsets; 37 breeds, of which 12 are cats (Parkhi et al. 2012, Table 1)."""
    first, lemmas, pets, _ = classes
    assert len(first) == len(lemmas) == len(set(first)) == 1000
    assert published("imagenet_class_names.csv")["synset"].is_monotonic_increasing
    assert published("oxford_pets_class_names.csv")["species"].value_counts().to_dict() == {"dog": 25, "cat": 12}
    assert len(pets) == len(set(pets)) == 37


def test_20_of_37_pet_breeds_are_imagenet_class_names(classes):
    """All names of each synset, without the words cat and dog; one rule more or less gives another number."""
    first, lemmas, pets, synonyms = classes

    def count(names, **rules):
        return int(label_overlap(names, pets, **rules)["rule"].notna().sum())

    pet_words = ["cat", "dog"]
    assert count(lemmas, generic=pet_words) == 20
    assert count(first) == 13
    assert count(lemmas) == 19
    assert count(first, generic=pet_words) == 15  # Persian cat and Siamese cat
    assert count(lemmas, generic=pet_words, synonyms=synonyms) == 24


def test_which_breeds_are_not_class_names(classes):
    _, lemmas, pets, synonyms = classes
    table = label_overlap(lemmas, pets, generic=["cat", "dog"], synonyms=synonyms).set_index("downstream")
    assert table.loc["Persian"].tolist() == ["Persian cat", "generic"]
    assert table.loc["american_pit_bull_terrier"].tolist() == ["American Staffordshire terrier", "other_name"]
    dogs_not = {"american_bulldog", "havanese", "shiba_inu"}
    cats_not = {"Abyssinian", "Bengal", "Birman", "Bombay", "British_Shorthair", "Egyptian_Mau", "Maine_Coon"}
    cats_not |= {"Ragdoll", "Russian_Blue", "Sphynx"}
    assert set(table.index[table["rule"].isna()]) == dogs_not | cats_not


@pytest.mark.parametrize(
    "name", ["Soft-coated wheaten terrier", "soft_coated__Wheaten  TERRIER", " soft coated wheaten terrier."]
)
def test_spelling_does_not_matter(name):
    assert normalised_name(name) == "soft coated wheaten terrier"


def test_a_generic_word_alone_is_a_name():
    assert normalised_name("dog", generic=["dog"]) == "dog"
    assert label_overlap(["cat"], ["cat", "dog"], generic=["cat", "dog"])["rule"].tolist() == ["name", None]


def test_a_task_that_was_not_checked_is_null_and_not_false():
    table = pd.DataFrame({"task": ["pets", "svhn", "dtd", "pets"], "e_ir": [0.1, 0.2, 0.3, 0.4]})
    overlaps = {"pets": label_overlap(["pug"], ["pug", "Bengal"]), "svhn": label_overlap(["pug"], ["0", "1"])}
    flagged = flag_overlap(table, overlaps)
    assert flagged["shared_classes"].tolist() == [1, 0, pd.NA, 1]
    assert flagged["shared_share"].iloc[[0, 1, 3]].tolist() == [0.5, 0.0, 0.5]
    assert flagged["shares_labels"].tolist() == [True, False, pd.NA, True]
    assert table.columns.tolist() == ["task", "e_ir"]


@pytest.mark.parametrize(
    ("upstream", "downstream", "options", "message"),
    [
        ([], ["a"], {}, "must be class names"),
        (["a"], [], {}, "must be class names"),
        (["a"], ["b", "b"], {}, "must not repeat, got 'b'"),
        (["a"], ["--"], {}, "with letters or digits; entry 0 is '--'"),
        (["a", 3], ["b"], {}, "upstream names must be text with letters or digits; entry 1 is 3"),
        (["a"], ["b"], {"synonyms": {"b": "c"}}, "synonyms must name upstream classes; 'c'"),
        (["a"], ["b"], {"generic": "cat"}, "generic must be a list of names, got 'cat'"),
        ("abc", ["b"], {}, "upstream must be a list of names"),
        (["a"], "abc", {}, "downstream must be a list of names"),
        ([[]], ["a"], {}, "entry 0 is ''"),
    ],
)
def test_bad_names(upstream, downstream, options, message):
    with pytest.raises(ValueError, match=message):
        label_overlap(upstream, downstream, **options)


def test_names_are_case_folded_in_one_form_of_unicode():
    assert normalised_name("STRASSE") == normalised_name("stra\u00dfe")
    assert normalised_name("cafe\u0301") == normalised_name("caf\u00e9")
    assert normalised_name("\uff22eagle") == "beagle"


def test_an_overlap_of_no_class_is_refused():
    table = pd.DataFrame({"task": ["pets"]})
    with pytest.raises(ValueError, match="that of 'pets' has none"):
        flag_overlap(table, {"pets": pd.DataFrame({"rule": []})})
