import { quote } from '../quote.ts'
import { createFinding, type Finding, type FindingRule } from './finding.ts'
import { groupBy } from './group-by.ts'
import { ownersOf, type Owners } from './owners.ts'
import type { LintSet } from './lint-rule.ts'

/** Finds duplicate ids: of policies in one list, and of rules in one policy. */
export function findRepeatedIds(set: LintSet): Finding[] {
  const { policies, rules } = ownersOf(set)
  return [...repeated(policies, 'policy'), ...repeated(rules, 'rule')]
}

/** One finding per id, which lists every owner of the id. */
function repeated({ all, within, idOf, nameOf }: Owners, word: 'policy' | 'rule'): Finding[] {
  return groupBy(all, (owner) => `${within(owner)}\0${idOf(owner)}`).flatMap((group) => {
    const [first] = group
    if (first === undefined || group.length === 1) return []
    const count = `${group.length} ${word === 'rule' ? 'rules of the policy' : 'policies'}`
    return [
      createFinding(
        'repeated_id',
        sortBy(group, nameOf),
        `${count} have the id ${quote(idOf(first))}`,
        `give each ${word} a unique id`,
      ),
    ]
  })
}

function sortBy(
  owners: readonly FindingRule[],
  keyOf: (owner: FindingRule) => string,
): FindingRule[] {
  return owners.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0))
}
