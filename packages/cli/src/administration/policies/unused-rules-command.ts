import type { UnusedRulesReport } from '@palisade/client'
import type { RuleUse, UnusedRule } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { parseInstant } from '../../options/parse-instant.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { formatTime, WIDE, type Style } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'

const USES: Readonly<Record<RuleUse, string>> = {
  never: 'never matched',
  shadowed: 'only as a shadow',
  gone_devices: 'only on revoked devices',
  unknown: 'cannot be judged',
  used: 'matched',
}

/** `palisade rule unused` */
export function addUnusedRulesCommand(rule: Command, context: RunContext): void {
  rule
    .command('unused')
    .description('List rules that decided nothing in the kept records, and expired rules.')
    .option('--since <when>', 'leave out earlier days: an age such as 30d, or RFC 3339')
    .option(...WIDE)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The list is as good as the evidence: records of the kept days, of the decisions that machines
upload (\`palisade org set --upload\`). Allow rules are judged while they upload all decisions, on
all days of the list; after a change, ask with a later \`--since\`. A rule for a rare
case may be needed although no kept record has it.

Examples:
  palisade rule unused
  palisade rule unused --since 30d --json`,
    )
    .action(async (options: { readonly since?: string; readonly json?: true }) => {
      const { since, json } = options
      const from =
        since === undefined ? undefined : parseInstant(since, '--since', context.io.now())
      const { organization } = await connectOrganization(context.io)
      const report = await organization.unusedRules(from)
      await present(context, json, report, () => formatReport(report, context))
    })
}

function formatReport({ evidence, rules }: UnusedRulesReport, { style }: RunContext): string {
  const notes = describeEvidence(evidence).map((note) => `${style.quiet(note)}\n`)
  if (rules.length === 0) return `no rule to report\n${notes.join('')}`
  const table = formatTable(
    ['POLICY', 'RULE', 'DECISION', 'USE', 'STATE', { wide: 'ID' }],
    rules.map((rule) => [
      rule.policy_name,
      rule.rule_name,
      rule.decision,
      USES[rule.use],
      stateOf(rule, style),
      rule.rule_id,
    ]),
    style,
  )
  return `${table}\n${notes.join('')}`
}

function stateOf({ expired, expires_at, mode }: UnusedRule, style: Style): string {
  if (expired) return `expired ${formatTime(expires_at ?? '', style)}`
  return mode === 'shadow' ? 'in a shadow policy' : ''
}

function describeEvidence({
  since,
  upload,
  judges_allows,
}: UnusedRulesReport['evidence']): string[] {
  if (since === null)
    return ['no records are kept, so no rule can be judged; see `palisade org set --upload`']
  const kept = `records since ${since.slice(0, 10)}`
  switch (upload) {
    case 'off':
      return [`${kept}; machines upload nothing now, so rules without a match cannot be judged`]
    case 'denials':
      return [`${kept}; machines upload denials alone, so allow rules cannot be judged`]
    case 'sampled':
      return [`${kept}; machines upload a part of the allowed requests, so no allow can be judged`]
    case 'full':
      return judges_allows
        ? [kept]
        : [`${kept}; machines did not upload all decisions of that time: ask with a later --since`]
  }
}
