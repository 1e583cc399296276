import { ACTIONS } from '@palisade/policy-core'
import type { InactiveReason, ListedRule, PolicyListHead } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'
import { formatTable } from '../terminal/table.ts'

interface ListOptions {
  readonly includeInactive?: true
  readonly action?: (typeof ACTIONS)[number]
  readonly json?: true
}

/** `palisade rules` */
export function addRulesCommand(program: Command, context: RunContext): void {
  addRules(program.command('rules'), context)
}

/** `palisade policy ls`, the same by another name. */
export function addPolicyLsCommand(policy: Command, context: RunContext): void {
  addRules(policy.command('ls', { hidden: true }), context)
}

function addRules(command: Command, context: RunContext): void {
  command
    .summary('list the rules that this machine enforces')
    .description(
      'List the rules that the agent of this machine enforces now, with their origin. ' +
        'It asks the agent; `palisade policy list` asks the server for all policies.',
    )
    .option('--include-inactive', 'list rules too that do not count, with the reason')
    .addOption(new Option('--action <action>', 'list rules on one action').choices([...ACTIONS]))
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
A rule of origin \`org\` comes from the organization, one of origin \`local\` from this machine.
A request that no listed rule allows is denied.

Exit codes: 0 the agent answered, 1 it did not

Examples:
  palisade rules
  palisade rules --action connect:tcp --json`,
    )
    .action(async (options: ListOptions) => {
      const { head, rules } = await readPolicies(context, options)
      const { kind: _, rules: _all, ...listed } = head
      const value = { ...listed, rules: rules.map(({ kind: _kind, ...rule }) => rule) }
      await present(context, options.json, value, () => formatPolicies(head, rules, context.style))
    })
}

/** Keeps the listed rules only: the agent may send tens of thousands. */
function readPolicies(
  { io }: RunContext,
  { includeInactive, action }: ListOptions,
): Promise<{ readonly head: PolicyListHead; readonly rules: readonly ListedRule[] }> {
  return askAgent(io, EXIT.failed, async (agent) => {
    const rules: ListedRule[] = []
    let head: PolicyListHead | null = null
    for await (const line of agent.policies()) {
      if (line.kind === 'head') head = line
      else if (
        (line.active || includeInactive === true) &&
        (action === undefined || line.actions.includes(action))
      )
        rules.push(line)
    }
    if (head === null) throw new Error('the agent listed its policies without a head')
    return { head, rules }
  })
}

const INACTIVE: Readonly<Record<InactiveReason, string>> = {
  governed: 'the organization governs this machine',
  policy_expired: 'the policies have expired',
  conflict: 'two organizations claim this machine',
  expired: 'the rule has expired',
  shadow: 'its policy is a shadow policy',
  not_begun: 'the grant has not begun',
  spent: 'the grant was for one use, which is spent',
  revoked: 'the grant was revoked',
  without_effect: 'grants do not count now',
}

function formatPolicies(head: PolicyListHead, rules: readonly ListedRule[], style: Style): string {
  if (head.revision === null)
    return style.plain(`state ${head.state}: everything is denied; run \`palisade status\``) + '\n'
  const inForce = `revision ${head.revision}, ${head.state}: ${count(rules.length, 'rule')} listed`
  if (rules.length === 0) return `${inForce}\n`
  const table = formatTable(
    ['DECISION', 'ACTIONS', 'RESOURCES', 'RULE', 'POLICY', 'ORIGIN'],
    rules.map((rule) => [
      rule.inactive_reason === undefined
        ? rule.decision
        : [`${rule.decision} (inactive)`, INACTIVE[rule.inactive_reason]],
      rule.actions,
      rule.resources,
      rule.rule_name,
      rule.policy_name,
      rule.origin,
    ]),
    style,
  )
  const offline =
    head.state === 'expired' && head.offline_allow.length > 0
      ? `still reachable: ${style.plain(head.offline_allow.join(', '))}\n`
      : ''
  return `${table}${inForce}\n${offline}`
}
