import type { Suggestion, SuggestionsResponse } from '@palisade/protocol'
import { Document, isMap, isScalar, isSeq } from 'yaml'
import { formatDocument, setPolicyStyle } from '../policy-file/render-policies.ts'
import { count } from '../terminal/count.ts'
import { printable } from '../terminal/printable.ts'
import {
  describeEvidence,
  describeMarks,
  describeOpened,
  describeTeams,
} from './describe-suggestion.ts'

const MOST_OPENED = 50
const MOST_REPLACED = 10
const MOST_UNCOVERED = 50

/**
 * Renders a file for `palisade plan` and `apply`, with the evidence in comments. Names of machines
 * are escaped, so that none ends its comment.
 */
export function renderSuggestions(answer: SuggestionsResponse): string {
  const document = new Document({ policies: answer.document.policies })
  document.commentBefore = comment(head(answer))
  document.comment = comment(foot(answer))
  const policies = document.get('policies')
  for (const [index, policy] of (isSeq(policies) ? policies.items : []).entries())
    if (isMap(policy)) {
      policy.spaceBefore = index > 0
      setPolicyStyle(policy)
    }
  const suggestions = new Map(answer.suggestions.map((each) => [keyOf(each), each]))
  for (const { key, path } of listResources(answer.document)) {
    const suggestion = suggestions.get(key)
    const node = document.getIn(path, true)
    if (suggestion !== undefined && isScalar(node))
      node.commentBefore = comment(linesOf(suggestion))
  }
  return formatDocument(document)
}

/** The resources with their paths in the document. */
function listResources({ policies }: SuggestionsResponse['document']) {
  return policies.flatMap(({ name: policy, rules }, index) =>
    rules.flatMap(({ name: rule, resources }, at) =>
      resources.map((resource, number) => ({
        key: keyOf({ policy, rule, resource }),
        path: ['policies', index, 'rules', at, 'resources', number],
      })),
    ),
  )
}

function keyOf({
  policy,
  rule,
  resource,
}: Pick<Suggestion, 'policy' | 'rule' | 'resource'>): string {
  return [policy, rule, resource].join('\0')
}

function comment(lines: readonly string[]): string {
  return lines.map((line) => ` ${printable(line)}`).join('\n')
}

function head({ since, until, revision, examined }: SuggestionsResponse): readonly string[] {
  const { decisions, devices, targets, left_out } = examined
  return [
    `Suggested from ${count(decisions, 'decision')} of ${count(devices, 'device')} on ` +
      `${count(targets, 'target')},`,
    `${since} to ${until}, beside the policies of revision ${revision}.`,
    ...(left_out === 0 ? [] : [`${count(left_out, 'decision')} left out: ask for a shorter time.`]),
    'Records come from machines, and a machine can lie: check each resource, and those with `!`',
    'twice. Then run `palisade plan` with this file.',
  ]
}

function linesOf(suggestion: Suggestion): readonly string[] {
  const { evidence, members, replaces } = suggestion
  return [
    describeEvidence(evidence, members),
    ...describeMarks(suggestion).map((mark) => `! ${mark}`),
    ...replaces.slice(0, MOST_REPLACED).map((each) => `  in place of ${each}`),
    ...(replaces.length > MOST_REPLACED ? ['  and more'] : []),
  ]
}

function foot({
  examined,
  opens,
  not_covered,
  not_covered_totals,
}: SuggestionsResponse): readonly string[] {
  if (examined.decisions === 0)
    return [
      'No such request is recorded. `palisade org set --upload` chooses the records that machines',
      'upload, and `--from` whether denials or observed requests are read. A record takes a minute',
      'or two to arrive.',
    ]
  const opened = opens.flatMap(({ teams, reachable, complete }) => [
    `Newly opened for ${describeTeams(teams)}:`,
    ...reachable.slice(0, MOST_OPENED).map((each) => `  ${describeOpened(each)}`),
    ...(reachable.length > MOST_OPENED ? [`  and ${reachable.length - MOST_OPENED} more`] : []),
    ...(complete ? [] : ['  and possibly more: the comparison took too long']),
  ])
  const left = not_covered
    .slice(0, MOST_UNCOVERED)
    .map(({ reason, detail, action, target, evidence }) => {
      const request = target === '' ? 'requests that cannot be read' : `${action ?? ''} ${target}`
      return `  ${request}: ${reason}, ${detail} (${describeEvidence(evidence)})`
    })
  return [
    ...opened,
    ...(not_covered_totals.length === 0 ? ['Everything is covered.'] : ['Not covered:']),
    ...not_covered_totals.map(
      ({ reason, targets, decisions }) =>
        `  ${reason}: ${count(targets, 'target')}, ${count(decisions, 'decision')}`,
    ),
    ...(left.length === 0 ? [] : ['In detail, most devices first:']),
    ...left,
  ]
}
