"""What is wrong on any node is found without one; what an inventory may define is left alone."""

from stackplan.engine.bind import faults
from stackplan.language import playbook as playbooks
from stackplan.language.alone import render_alone
from stackplan.language.template import as_written


def found(tmp_path, *steps, values="{tok: {secret: true, env: TOK}, port: nine}"):
    path = tmp_path / "p.yaml"
    head = f"stackplan: 1\nnodes: all\nvars: {values}\nsteps:\n"
    path.write_text(head + "".join(f"  - {{id: s{number}, {step}}}\n" for number, step in enumerate(steps)))
    rendering = render_alone(playbooks.read(path))
    wrong = [*rendering.wrong, *faults(rendering.playbook, as_written)]
    return {(it.at.line, it.at.column, it.summary) for it in wrong}


POST = "postconditions: [{file: {path: /}}]"


def test_every_secret_in_a_field_that_may_not_hold_one_is_found_at_its_place(tmp_path):
    steps = [
        f'user: "{{{{ tok }}}}", run: {{argv: [a, "{{{{ tok }}}}", "{{{{ tok }}}}"], cwd: "{{{{ tok }}}}"}}, {POST}',
        'checkpoint: {}, postconditions: [{command: {run: "echo {{ tok }}"}}, {command: {argv: ["{{ tok }}"]}}]',
    ]
    wrong = found(tmp_path, *steps)
    assert {(line, summary.split("`")[1]) for line, _, summary in wrong} == {
        (5, "user"),
        (5, "argv"),
        (5, "cwd"),
        (6, "argv"),
        (6, "run"),
    }
    assert len({(line, column) for line, column, _ in wrong}) == 6


def test_a_value_that_does_not_fit_is_found(tmp_path):
    wrong = found(tmp_path, 'checkpoint: {}, postconditions: [{gpu: {count: "{{ port }}"}}]')
    assert [summary for _, _, summary in wrong] == ["`count` is not a whole number"]


def test_what_an_inventory_may_define_and_what_a_secret_may_be_is_left_alone(tmp_path):
    steps = [
        f'when: nothing.known, run: {{argv: ["{{{{ node.labels.rack }}}}", "{{{{ elsewhere }}}}"]}}, {POST}',
        'checkpoint: {}, postconditions: [{gpu: {count: "{{ [1][tok] }}"}}]',
    ]
    assert found(tmp_path, *steps) == set()


def test_a_file_that_is_no_text_is_told_at_the_field_that_names_it(tmp_path):
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\x00")
    (tmp_path / "f.j2").write_text("{{ elsewhere }}")
    wrong = found(
        tmp_path, f"file: {{path: /a, source: logo.png}}, {POST}", f"file: {{path: /a, template: f.j2}}, {POST}"
    )
    assert [(line, summary) for line, _, summary in wrong] == [
        (5, "`logo.png` is not a text that can be put on a node")
    ]
