import { ACTIONS, isAction, type Action } from '@palisade/policy-core'
import type { Changed } from '@palisade/client'
import type { DetailedPolicy, DetailedRule } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { findPolicy, findRule } from '../../lookup/find-policy.ts'
import { collect } from '../../options/collect.ts'
import { parseExpiry } from '../../options/parse-expiry.ts'
import { warnOfFindings } from '../../policy-file/warn-of-findings.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { printable } from '../../terminal/printable.ts'
import { warnOfRollout } from '../rollouts/warn-of-rollout.ts'
import { formatRules } from './format-policy.ts'
import { addUnusedRulesCommand } from './unused-rules-command.ts'

interface RuleOptions {
  readonly name?: string
  readonly action?: readonly string[]
  readonly allow?: true
  readonly deny?: true
  readonly expires?: string
  readonly json?: true
}

const RESOURCES = `
Resources of connect:tcp and connect:udp:
  example.com  *.example.com  **.example.com  example.com:443  192.0.2.7  [2001:db8::1]:443
  10.0.0.0/8
Resources of read and write:
  /data/project  /data/*  /data/**  ~/work/**   (quote them, or the shell expands them)`

/** `palisade rule add|update|rm|unused` */
export function addRuleCommands(program: Command, context: RunContext): void {
  const rule = program
    .command('rule')
    .summary('write rules of a policy')
    .description('Write the rules of a policy.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade rule add web --name registry --action connect:tcp --allow npm.example.com:443
  palisade rule rm web registry
  palisade rule unused`,
    )
  addAdd(rule, context)
  addUpdate(rule, context)
  addRemove(rule, context)
  addUnusedRulesCommand(rule, context)
}

function addAdd(rule: Command, context: RunContext): void {
  withRuleOptions(rule.command('add'))
    .description('Add a rule to a policy.')
    .argument('<policy>', 'id or name')
    .argument('<resources...>', 'patterns that the rule applies to')
    .addHelpText(
      'after',
      `${RESOURCES}

Examples:
  palisade rule add web --name registry --action connect:tcp --allow npm.example.com:443
  palisade rule add web --name lan --action connect:tcp,connect:udp --deny 10.0.0.0/8 192.168.0.0/16
  palisade rule add files --name work --action read --action write --allow '~/work/**'
  palisade rule add web --name move --action connect:tcp --allow old.example.com --expires 14d`,
    )
    .action(async (idOrName: string, resources: string[], options: RuleOptions) => {
      const { name, json } = options
      const decision = parseDecision(options)
      const actions = parseActions(options.action)
      const { expires_at } = readExpiry(options, context)
      if (expires_at === null)
        throw usageError('a new rule never expires unless it has a time; leave out `--expires`')
      if (name === undefined || actions === undefined || decision === undefined)
        throw usageError(
          `a rule needs more; write ${missingOf({ name, actions, decision }).join(', ')}`,
        )
      const { organization } = await connectOrganization(context.io)
      const policy = await findPolicy(organization, idOrName)
      const expiry = expires_at === undefined ? {} : { expires_at }
      const body = { name, actions, decision, resources, ...expiry }
      const added = await organization.rules.add(policy.id, body)
      await present(context, json, added, () =>
        printable(`added rule \`${added.name}\` (${added.id}) to policy \`${policy.name}\``).concat(
          '\n',
        ),
      )
      const { warnings: _, ...written } = added
      await warnOfRule(context, policy, written)
      await warnOfRollout(context, organization)
    })
}

function addUpdate(rule: Command, context: RunContext): void {
  withRuleOptions(rule.command('update'))
    .description('Change a rule in place. Values without an option stay.')
    .argument('<policy>', 'id or name')
    .argument('<rule>', 'id or name')
    .argument('[resources...]', 'patterns that replace all current ones')
    .addHelpText(
      'after',
      `${RESOURCES}

Examples:
  palisade rule update web registry --name "package registry"
  palisade rule update web registry --deny
  palisade rule update web registry --expires 2026-12-31T18:00:00Z
  palisade rule update web registry --expires never
  palisade rule update web registry npm.example.com:443 mirror.example.com:443`,
    )
    .action(
      async (idOrName: string, ruleName: string, resources: string[], options: RuleOptions) => {
        const decision = parseDecision(options)
        const actions = parseActions(options.action)
        const body = {
          ...(options.name === undefined ? {} : { name: options.name }),
          ...(actions === undefined ? {} : { actions }),
          ...(decision === undefined ? {} : { decision }),
          ...(resources.length === 0 ? {} : { resources }),
          ...readExpiry(options, context),
        }
        if (Object.keys(body).length === 0)
          throw usageError('nothing to change; give an option or new resources')
        const { organization } = await connectOrganization(context.io)
        const policy = await findPolicy(organization, idOrName)
        const found = findRule(policy, ruleName)
        const changed = await organization.rules.update(policy.id, found.id, body)
        await present(context, options.json, changed, () => formatChange(changed, context))
        await warnOfRule(context, policy, changed.new)
        await warnOfRollout(context, organization)
      },
    )
}

function addRemove(rule: Command, context: RunContext): void {
  rule
    .command('rm')
    .description('Remove a rule from a policy.')
    .argument('<policy>', 'id or name')
    .argument('<rule>', 'id or name')
    .option('--json', 'print the removed rule')
    .addHelpText('after', '\nExamples:\n  palisade rule rm web registry')
    .action(async (idOrName: string, ruleName: string, options: { readonly json?: true }) => {
      const { organization } = await connectOrganization(context.io)
      const policy = await findPolicy(organization, idOrName)
      const found = findRule(policy, ruleName)
      const removed = await organization.rules.delete(policy.id, found.id)
      await present(context, options.json, removed, () =>
        printable(
          `removed rule \`${removed.name}\` (${removed.id}) from policy \`${policy.name}\``,
        ).concat('\n'),
      )
      await warnOfRollout(context, organization)
    })
}

/** Warns of findings about a written rule among the other rules of its policy. */
async function warnOfRule(
  context: RunContext,
  policy: DetailedPolicy,
  rule: DetailedRule,
): Promise<void> {
  const others = (policy.allowlist_v0?.rules ?? []).filter(({ id }) => id !== rule.id)
  const written = { ...policy, allowlist_v0: { rules: [...others, rule] } }
  await warnOfFindings(context, [written], ({ rule_id }) => rule_id === rule.id)
}

function withRuleOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name of the rule, unique in the policy')
    .option('--action <action>', 'action; repeat, or separate by commas, for a second one', collect)
    .option('--allow', 'the rule allows')
    .option('--deny', 'the rule denies, even if other rules allow')
    .option(
      '--expires <time>',
      'when the rule ends: a duration such as `8h`, or a time; `never` to remove it',
    )
    .option('--json', 'print the response of the API')
}

/** `expires_at` is null for `never`. */
function readExpiry(
  { expires }: RuleOptions,
  { io }: RunContext,
): { readonly expires_at?: string | null } {
  if (expires === undefined) return {}
  if (expires === 'never') return { expires_at: null }
  return { expires_at: parseExpiry(expires, '--expires', io.now()) }
}

/** Names all missing options at once, so that one retry is enough. */
function missingOf(given: {
  readonly name: unknown
  readonly actions: unknown
  readonly decision: unknown
}): readonly string[] {
  return [
    ...(given.name === undefined ? ['`--name NAME`'] : []),
    ...(given.actions === undefined ? ['`--action connect:tcp`'] : []),
    ...(given.decision === undefined ? ['`--allow` or `--deny`'] : []),
  ]
}

function parseDecision(options: RuleOptions): 'allow' | 'deny' | undefined {
  if (options.allow === true && options.deny === true)
    throw usageError('`--allow` and `--deny` exclude each other; write one of them')
  if (options.allow === true) return 'allow'
  return options.deny === true ? 'deny' : undefined
}

function parseActions(written: readonly string[] | undefined): Action[] | undefined {
  return written?.map((action) => {
    if (isAction(action)) return action
    const known = ACTIONS.map((name) => `\`${name}\``).join(', ')
    throw usageError(`unknown action \`${action}\`; write one of ${known}`)
  })
}

function formatChange(changed: Changed<DetailedRule>, { style, io }: RunContext): string {
  const before = `${style.quiet('before')}\n${formatRules([changed.old], style, io.now())}`
  const after = `${style.quiet('after')}\n${formatRules([changed.new], style, io.now())}`
  return `${before}\n${after}`
}
