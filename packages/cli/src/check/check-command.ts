import type { Command } from 'commander'
import { usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { dependsOnAddress, type DecisionAnswer } from './answer.ts'
import { runBatch } from './batch.ts'
import { createEvaluator, type EvaluatorOptions } from './create-evaluator.ts'
import { formatDecision } from './format-decision.ts'
import { formatExplanation } from './format-explanation.ts'
import { ACTION_NAMES, parseTarget, type WrittenRequest } from './target.ts'

interface Options extends EvaluatorOptions {
  readonly address?: string
  readonly batch?: string
  readonly json?: true
}

const TARGETS = `
Targets:
  connect:tcp, connect:udp   HOST:PORT, such as example.com:443, 192.0.2.7:443, [2001:db8::1]:443
  read, write                an absolute path, such as /data/x

Policies:
  a file in the API's format, or a file or directory as \`palisade plan\` reads it. For the latter,
  --team and --home say the user's teams and home; without --team only policies for everybody apply.

Names:
  The agent resolves a name where its proxy would, and decides each address. With --policies no name
  is resolved: if a rule allows addresses, an unlisted name depends on its address; see --address.

Time:
  With --policies, rules with \`expires_at\` are decided at --at, or at the present time.

Exit codes: 0 allow, 1 deny, 2 not evaluated, 3 depends on an unknown address`

/** `palisade check` */
export function addCheckCommand(program: Command, context: RunContext): void {
  addEvaluation(program.command('check'))
    .summary('tell whether a request is allowed')
    .description('Tell whether a request is allowed by a policy file or by the running agent.')
    .option('--batch <requests>', 'answer each line of a file (`-`: standard input); see below')
    .addHelpText(
      'after',
      `${TARGETS}

A batch holds one JSON request a line: {"action","host","port","address"?} or {"action","path"}.
Line N of the output is the decision object for line N of the input; a line that is blank, longer
than 64 KiB or not a JSON object is answered deny, invalid_request. Names are not resolved: a
decision that an address could change has \`address_required\`. The exit code is 0 if every line was
answered.

Examples:
  palisade check connect:tcp example.com:443
  palisade check connect:tcp example.com:443 --address 192.0.2.7
  palisade check read /data/x --policies policies.json --json
  palisade check connect:tcp example.com:443 --policies policies/ --team backend
  palisade check --policies policies.json --batch requests.ndjson`,
    )
    .action(async (action: string | undefined, target: string | undefined, options: Options) => {
      if (options.batch !== undefined) {
        await checkBatch(context, options.batch, options, action)
        return
      }
      const request = parseRequest('check', action, target, options)
      const evaluator = await createEvaluator(context.io, singleOptions(options))
      const answer = await evaluator.decide(request)
      const { governed } = evaluator
      context.exit(exitCodeOf(answer))
      const fault =
        answer.reason === 'invalid_request' && options.json !== true
          ? (await evaluator.explain(request)).detail
          : null
      await present(context, options.json, answer, () =>
        formatDecision(answer, { governed, style: context.style }, fault),
      )
    })
}

/** `palisade explain` */
export function addExplainCommand(program: Command, context: RunContext): void {
  addEvaluation(program.command('explain'))
    .summary('tell why a request is allowed or denied')
    .description('Show the deciding rules, every other rule that matched, and what nearly matched.')
    .addHelpText(
      'after',
      `${TARGETS}

Examples:
  palisade explain connect:tcp api.example.com:8443
  palisade explain write /data/x --policies policies.json --json`,
    )
    .action(async (action: string | undefined, target: string | undefined, options: Options) => {
      const request = parseRequest('explain', action, target, options)
      const evaluator = await createEvaluator(context.io, singleOptions(options))
      const answer = await evaluator.explain(request)
      const { governed } = evaluator
      context.exit(exitCodeOf(answer))
      await present(context, options.json, answer, () =>
        formatExplanation(answer, { governed, style: context.style }),
      )
    })
}

function addEvaluation(command: Command): Command {
  return command
    .argument('[action]', ACTION_NAMES)
    .argument('[target]', 'HOST:PORT or a path')
    .option('--address <ip>', 'the address that the host resolved to')
    .option('--policies <path>', 'evaluate with this file or directory instead of asking the agent')
    .option('--team <team>', 'apply the policies of this team, too; may be repeated', repeat)
    .option('--home <path>', 'directory that `~` stands for (default: your home directory)')
    .option('--at <time>', 'decide at this time, such as 2026-11-26T14:00:00Z (with --policies)')
    .option('--json', 'print one JSON object')
}

function parseRequest(
  command: string,
  action: string | undefined,
  target: string | undefined,
  options: Options,
): WrittenRequest {
  if (action === undefined || target === undefined)
    throw usageError(
      'an action and a target are needed; ' +
        `write \`palisade ${command} connect:tcp example.com:443\``,
    )
  return parseTarget(action, target, options.address)
}

async function checkBatch(
  { io }: RunContext,
  requests: string,
  options: Options,
  action: string | undefined,
): Promise<void> {
  if (action !== undefined || options.address !== undefined)
    throw usageError('with `--batch` the file has the requests; leave out action and address')
  await runBatch(io, await createEvaluator(io, evaluatorOptions(options)), requests)
}

/** Collects a repeated option without splitting it: a team's name may contain a comma. */
function repeat(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}

function evaluatorOptions({ policies, team, home, at }: Options): EvaluatorOptions {
  return {
    ...(policies === undefined ? {} : { policies }),
    ...(team === undefined ? {} : { team }),
    ...(home === undefined ? {} : { home }),
    ...(at === undefined ? {} : { at }),
  }
}

function singleOptions(options: Options): EvaluatorOptions {
  return { ...evaluatorOptions(options), resolves: true }
}

/** 0 allowed, 1 denied, 2 if there was nothing to decide, 3 if it depends on the address. */
export function exitCodeOf(answer: DecisionAnswer): number {
  if (answer.reason === 'invalid_request') return EXIT.usage
  if (dependsOnAddress(answer)) return EXIT.open
  return answer.decision === 'allow' ? EXIT.ok : EXIT.failed
}
