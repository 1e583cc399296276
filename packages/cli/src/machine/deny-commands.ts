import { ACTIONS, FILESYSTEM_ACTIONS, NETWORK_ACTIONS, type Action } from '@palisade/policy-core'
import type { LocalDeny, LocalRulesResult } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import type { Style } from '../terminal/style.ts'

interface DenyOptions {
  readonly action?: readonly Action[]
  readonly name?: string
  readonly json?: true
}

const TARGET = 'name, address or path in rule syntax, such as `*.example.com:443` or `~/.ssh/**`'

const UNDENIED = 'no longer denied by a local rule'

/** `palisade deny` */
export function addDenyCommand(program: Command, context: RunContext): void {
  program
    .command('deny')
    .summary('deny a host or a path on this machine')
    .description(
      'Deny a host or a path on this machine, beside the policies of the organization. ' +
        'The agent keeps the rule, and closes connections that it denies.',
    )
    .argument('<target>', TARGET)
    .addOption(actionOption('action to deny; repeat for two (default: both of the target)'))
    .option('--name <name>', 'name of the rule (default: the target)')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
A user can only tighten: a local rule never allows anything. Any program of this user can remove the
rule again, so it guards against mistakes, not against programs.

Exit codes: 0 denied, 1 the agent refused or did not answer

Examples:
  palisade deny ads.example.com
  palisade deny '~/.ssh/**' --action read --name keys`,
    )
    .action(async (target: string, { action, name, json }: DenyOptions) => {
      const request = {
        resource: target,
        actions: [...(action ?? actionsOf(target))],
        ...(name === undefined ? {} : { name }),
      }
      const result = await askAgent(context.io, EXIT.failed, (agent) => agent.addLocalDeny(request))
      await answer(context, json, result, () => formatAdded(result, context.style))
    })
}

/** `palisade undeny` */
export function addUndenyCommand(program: Command, context: RunContext): void {
  program
    .command('undeny')
    .summary('end a deny of this machine')
    .description(
      'Remove the rules that `palisade deny` added for a target. Rules of the organization stay.',
    )
    .argument('<target>', 'the target as it was written')
    .addOption(actionOption('only rules with this action (default: all)'))
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 removed, 1 there was no such rule, or the agent refused or did not answer

Examples:
  palisade undeny ads.example.com`,
    )
    .action(async (target: string, { action, json }: DenyOptions) => {
      const request = {
        resource: target,
        ...(action === undefined ? {} : { actions: [...action] }),
      }
      const result = await askAgent(context.io, EXIT.failed, (agent) =>
        agent.removeLocalDenies(request),
      )
      if (result.outcome === 'unchanged' && json !== true)
        throw new CliError(
          'ERR_NOT_FOUND',
          EXIT.failed,
          `\`palisade deny\` has added no such rule for \`${target}\`; ` +
            '`palisade rules` lists the rules of this machine',
        )
      if (result.outcome === 'unchanged') context.exit(EXIT.failed)
      await answer(context, json, result, () => formatRemoved(result, context.style))
    })
}

function actionOption(text: string): Option {
  const collect = (value: string, former: readonly string[] = []): readonly string[] => {
    if (!(ACTIONS as readonly string[]).includes(value))
      throw usageError(`unknown action \`${value}\`; write one of ${LISTED}`)
    return [...former, value]
  }
  return new Option('--action <action>', text).argParser(collect)
}

const LISTED = ACTIONS.map((action) => `\`${action}\``).join(', ')

/** A pattern of paths begins with `/` or `~`, and no pattern of hosts does. */
function actionsOf(target: string): readonly Action[] {
  return /^[/~]/.test(target) ? FILESYSTEM_ACTIONS : NETWORK_ACTIONS
}

async function answer(
  context: RunContext,
  json: true | undefined,
  result: LocalRulesResult,
  text: () => string,
): Promise<void> {
  const { error } = result
  if (json !== true && error !== null)
    throw new CliError('ERR_AGENT', EXIT.failed, `the agent refused: ${error.message}`)
  if (error !== null) context.exit(EXIT.failed)
  await present(context, json, result, text)
}

function formatAdded({ outcome, denies }: LocalRulesResult, style: Style): string {
  const verb = outcome === 'added' ? 'denied' : 'denied already'
  return denies.map((deny) => `${style.good(verb)}  ${formatDeny(deny, style)}\n`).join('')
}

function formatRemoved({ denies }: LocalRulesResult, style: Style): string {
  return denies.map((deny) => `${style.good(UNDENIED)}  ${formatDeny(deny, style)}\n`).join('')
}

function formatDeny({ actions, resource, name }: LocalDeny, style: Style): string {
  const named = name === resource ? '' : ` (${name})`
  return style.plain(`${actions.join(', ')} ${resource}${named}`)
}
