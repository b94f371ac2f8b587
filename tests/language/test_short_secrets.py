"""A secret that is too short to be kept out of sight is refused where it is read."""

import pytest

from stackplan.language.secrets import Secrets
from stackplan.model.diagnosis import Invalid
from stackplan.model.location import Location
from stackplan.model.playbook import SecretSource

AT = Location("p.yaml", 4, 10)


@pytest.mark.parametrize("text", ["a", "123", " 1 "])
def test_it_is_refused_at_its_place_and_not_shown(text):
    with pytest.raises(Invalid, match="the secret `pin` is too short to be kept out of sight") as refused:
        Secrets(environment={"PIN": text}).read("pin", SecretSource(at=AT, env="PIN"))
    (diagnosis,) = refused.value.diagnoses
    assert diagnosis.at == AT
    assert diagnosis.expected.startswith("at least 4 characters")
    assert diagnosis.observed is None


def test_four_characters_are_enough():
    assert Secrets(environment={"PIN": "1234"}).read("pin", SecretSource(at=AT, env="PIN")).reveal() == "1234"
