import type { Command } from 'commander'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { formatPlan } from './format-plan.ts'
import { formatReplay } from './format-replay.ts'
import {
  addPlanOptions,
  makePlan,
  PLAN_NOTES,
  planValue,
  warnOfPlanned,
  type PlanOptions,
} from './make-plan.ts'
import { REPLAY_NOTES, replayPlan } from './replay-plan.ts'

interface PlanCommandOptions extends PlanOptions {
  readonly exitCode?: true
  readonly replay?: string | true
}

/** `palisade plan` */
export function addPlanCommand(program: Command, context: RunContext): void {
  addPlanOptions(program.command('plan'))
    .summary('show what policy files would change')
    .description(
      'Show what applying policy files would change, and which resources become reachable ' +
        'or blocked. Changes nothing and needs only `policies:read`.',
    )
    .option('--exit-code', 'exit 3 when something would change')
    .option('--replay [age]', 'decide the recorded requests of this time anew (default: 30d)')
    .addHelpText(
      'after',
      `${PLAN_NOTES}
${REPLAY_NOTES}

Exit codes: 0 planned, 1 refused, 2 wrong usage or bad file,
            3 something would change (only with \`--exit-code\`)

Examples:
  palisade plan policies/
  palisade plan web.yaml files.yaml --prune
  palisade plan policies/ --replay 7d
  palisade plan policies/ --exit-code --json`,
    )
    .action(async (files: string[], options: PlanCommandOptions) => {
      const made = await makePlan(context.io, files, options)
      const replay = await replayPlan(context.io, made, { age: options.replay, option: '--replay' })
      const value = { ...planValue(made), ...(replay === null ? {} : { replay }) }
      await present(context, options.json, value, () =>
        formatPlan(made, context.style).concat(
          replay === null ? '' : `\n${formatReplay(replay, context.style)}`,
        ),
      )
      await warnOfPlanned(context, made)
      if (options.exitCode === true && made.plan.changes.length > 0) context.exit(EXIT.changes)
    })
}
