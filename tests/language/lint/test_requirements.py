"""A requirement of the usual form is read without the grammar, and as the grammar reads it."""

import pytest

from stackplan.language.lint._wanted import _PLAIN, _by_grammar, parsed


@pytest.mark.parametrize(
    "text",
    [
        "torch",
        "torch==2.9.1",
        "torch==2.9.1+cu130",
        "torch==2.9.1+CU130.torch2.9",
        "torch==2.9.1+01.x",
        "Flash_Attn==2",
        "a",
        "a==0",
        "zope.interface==5.0",
        "x.tar.gz",
        "nvidia-cuda-runtime-cu12==12.8.90",
    ],
)
def test_the_usual_form_is_read_as_the_grammar_reads_it(text):
    assert _PLAIN.fullmatch(text)
    found, by_grammar = parsed(text), _by_grammar(text)
    assert found == by_grammar
    assert found is not None


@pytest.mark.parametrize(
    "text",
    [
        "torch==",
        "torch==2.",
        "torch==2.*",
        "torch==2.9.1+",
        "torch==2.9.1+cu130.",
        "torch===2",
        "torch==2.0rc1",
        "torch==1!2",
        "torch>=2",
        "torch[x]==2",
        "torch==2; python_version<'3'",
        "torch == 2",
        "-torch",
        "torch-",
        "torch==" + "9" * 10,
        "törch==1",
        "torch==٣",
        "torch==2\n",
    ],
)
def test_every_other_form_is_left_to_the_grammar(text):
    assert not _PLAIN.fullmatch(text)
