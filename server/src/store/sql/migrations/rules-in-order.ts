import type { Dialect } from '../dialect.ts'

/**
 * The ids of rules come first in their index: they begin with the time, so new ones are neighbours,
 * and a commit of many policies' rules writes one page of it instead of one for each policy.
 */
export function rulesInOrder(dialect: Dialect): string {
  return `
  ${dialect.canDropConstraints ? DROP_FORMER_INDEX : makeAnew(dialect)}
  CREATE UNIQUE INDEX rules_id_policy_id_key ON rules (id, policy_id);
  `
}

/** In a table made anew, whoever began to read before would find policies without rules. */
const DROP_FORMER_INDEX = 'ALTER TABLE rules DROP CONSTRAINT rules_policy_id_id_key;'

/** The index of names, once its name is free. */
function makeAnew({ text, place, placed }: Dialect): string {
  return `
  CREATE TABLE rules_in_order (
    place ${place},
    policy_id ${text} NOT NULL REFERENCES policies (id) ON DELETE CASCADE,
    id ${text} NOT NULL,
    name ${text} NOT NULL,
    actions ${text} NOT NULL,
    decision ${text} NOT NULL CHECK (decision IN ('allow', 'deny')),
    resources ${text} NOT NULL
  ) ${placed};
  INSERT INTO rules_in_order (policy_id, id, name, actions, decision, resources)
    SELECT policy_id, id, name, actions, decision, resources FROM rules ORDER BY place;

  DROP TABLE rules;
  ALTER TABLE rules_in_order RENAME TO rules;
  CREATE UNIQUE INDEX rules_policy_id_name_key ON rules (policy_id, name);
  `
}
