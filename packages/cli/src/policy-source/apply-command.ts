import { ClientError } from '@palisade/client'
import type { ApplyResponse } from '@palisade/protocol'
import type { Command } from 'commander'
import { warnOfRollout } from '../administration/warn-of-rollout.ts'
import { CliError, usageError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { present, type RunContext } from '../run-context.ts'
import { printable } from '../terminal/printable.ts'
import { write } from '../terminal/write.ts'
import { formatPlan, summarize } from './format-plan.ts'
import {
  addPlanOptions,
  makePlan,
  PLAN_NOTES,
  planValue,
  warnOfPlanned,
  type MadePlan,
  type PlanOptions,
} from './make-plan.ts'

interface ApplyOptions extends PlanOptions {
  readonly yes?: true
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
    .addHelpText(
      'after',
      `${PLAN_NOTES}

Exit codes: 0 applied or nothing to change, 1 refused or cancelled, 2 wrong usage or bad file

Examples:
  palisade apply policies/
  palisade apply policies/ --prune --yes`,
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
  const made = await makePlan(io, files, options)
  if (options.json !== true) await write(io.stdout, formatPlan(made, style))
  await warnOfPlanned(context, made)
  if (made.plan.changes.length === 0) {
    if (options.json === true)
      await present(context, true, { ...planValue(made), dry_run: false }, () => '')
    return
  }
  if (options.yes !== true) await confirm(context, made)
  const done = await applyPlanned(made)
  await present(context, options.json, { ...planValue(made), ...done }, () =>
    style.good(`applied; ${made.org} is at revision ${done.revision}`).concat('\n'),
  )
  await warnOfRollout(context, made.organization)
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
