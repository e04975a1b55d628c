from greeting import greet


def test_first_name():
    assert greet("Ada") == "Hello, Ada!"


def test_whole_name():
    assert greet("Ada Lovelace") == "Hello, Ada Lovelace!"


def test_japanese():
    assert greet("山田 花子") == "Hello, 山田 花子!"
