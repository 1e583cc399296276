import { ClientError } from '@palisade/client'
import type { ApplyResponse } from '@palisade/protocol'
import type { Command } from 'commander'
import { warnOfRollout } from '../administration/rollouts/warn-of-rollout.ts'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { printable } from '../terminal/printable.ts'
import { formatPlan, summarize } from './format-plan.ts'
import { formatReplay } from './format-replay.ts'
import {
  addPlanOptions,
  makePlan,
  PLAN_NOTES,
  planValue,
  warnOfPlanned,
  type MadePlan,
  type PlanOptions,
} from './make-plan.ts'
import {
  mostDenied,
  readMaxDenied,
  REPLAY_NOTES,
  replayPlan,
  requireEvidence,
} from './replay-plan.ts'

interface ApplyOptions extends PlanOptions {
  readonly yes?: true
  readonly requireReplay?: string | true
  readonly maxDenied?: string
}

/** `palisade apply` */
export function addApplyCommand(program: Command, context: RunContext): void {
  addPlanOptions(program.command('apply'))
    .summary('apply policy files to the organization')
    .description(
      'Show what policy files would change, ask, and apply them to the organization: ' +
        'all changes, or none if somebody else has changed it since.',
    )
    .option('--yes', 'do not ask')
    .option(
      '--require-replay [age]',
      'refuse what would newly deny recorded requests of this time (default: 30d)',
    )
    .option('--max-denied <number>', 'newly denied requests that are not refused (default: 0)')
    .addHelpText(
      'after',
      `${PLAN_NOTES}
${REPLAY_NOTES}

Exit codes: 0 applied or nothing to change, 1 refused or cancelled, 2 wrong usage or bad file,
            4 more recorded requests would be denied than \`--max-denied\`, and nothing was changed

Examples:
  palisade apply policies/
  palisade apply policies/ --prune --yes
  palisade apply policies/ --require-replay 7d --max-denied 10`,
    )
    .action((files: string[], options: ApplyOptions) => applyFiles(context, files, options))
}

async function applyFiles(
  context: RunContext,
  files: readonly string[],
  options: ApplyOptions,
): Promise<void> {
  const { io, style } = context
  if (options.yes !== true && (io.prompts === null || options.json === true))
    throw usageError('not a terminal; add `--yes` to skip the question')
  const maxDenied = readMaxDenied(options)
  const made = await makePlan(io, files, options)
  if (options.json !== true) await write(io.stdout, formatPlan(made, style))
  await warnOfPlanned(context, made)
  if (made.plan.changes.length === 0) {
    if (options.json === true)
      await present(context, true, { ...planValue(made), dry_run: false }, () => '')
    return
  }
  await requireReplay(context, made, options, maxDenied)
  if (options.yes !== true) await confirm(context, made)
  const done = await applyPlanned(made)
  await present(context, options.json, { ...planValue(made), ...done }, () =>
    style.good(`applied; ${made.org} is at revision ${done.revision}`).concat('\n'),
  )
  await warnOfRollout(context, made.organization)
}

/**
 * Throws exit 4 when more recorded requests would be denied than `maxDenied`, and exit 1 when the
 * records cannot show it.
 */
async function requireReplay(
  { io, style }: RunContext,
  made: MadePlan,
  { requireReplay: age, json }: ApplyOptions,
  maxDenied: number,
): Promise<void> {
  const replay = await replayPlan(io, made, { age, option: '--require-replay' })
  if (replay === null) return
  if (json !== true) await write(io.stdout, `\n${formatReplay(replay, style)}`)
  requireEvidence(replay)
  const denied = mostDenied(replay, made.plan.changes)
  const may = denied === replay.newly_denied.count ? 'would' : 'could'
  if (denied > maxDenied)
    throw new CliError(
      'ERR_NEWLY_DENIED',
      EXIT.newlyDenied,
      `nothing was changed: ${denied} recorded requests ${may} be denied, ` +
        `more than ${maxDenied}; see \`palisade plan --replay\``,
    )
}

async function confirm({ io }: RunContext, { org, plan }: MadePlan): Promise<void> {
  const sure = await io.prompts?.confirm(printable(`Apply to ${org}: ${summarize(plan)}?`))
  if (sure !== true) throw new CliError('ERR_CANCELLED', EXIT.failed, 'nothing was changed')
}

/** Applies only the shown plan: the server refuses if the organization has a newer revision. */
async function applyPlanned({ organization, document, plan }: MadePlan): Promise<ApplyResponse> {
  try {
    return await organization.policySet.apply(document, plan.revision)
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    if (error.api?.status === 412)
      throw new CliError(
        'ERR_PLAN_STALE',
        EXIT.failed,
        'nothing was changed: somebody else changed the organization since the plan; run it again',
        { cause: error },
      )
    if (error.api !== undefined) throw error
    throw new CliError(
      'ERR_OUTCOME_UNKNOWN',
      EXIT.failed,
      `it is not known whether the changes were made (${error.message}); run \`palisade plan\``,
      { cause: error },
    )
  }
}
