import type { RolloutsClient } from '@palisade/client'
import type { Rollout } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { collect } from '../../options/collect.ts'
import { parseSeconds } from '../../options/duration.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { requireConfirmation } from '../../runtime/require-confirmation.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { findOpenRollout, isOpen } from './find-rollout.ts'
import {
  describeOpenRollout,
  describeState,
  formatRollouts,
  formatStatus,
} from './format-rollout.ts'
import { parseLimit, parseStage, parseWhole } from './parse-rollout-options.ts'

const WAIT = { least: 60, most: 30 * 86_400 } as const

interface JsonOption {
  readonly json?: true
}

interface StartOptions extends JsonOption {
  readonly stage?: readonly string[]
  readonly maxRejected: string
  readonly wait?: string
  readonly force?: true
}

interface ConfirmOptions extends JsonOption {
  readonly yes?: true
}

/** `palisade rollout start|show|list|advance|pause|resume|finish|roll-back` */
export function addRolloutCommands(program: Command, context: RunContext): void {
  const rollout = program
    .command('rollout')
    .summary('roll out policy changes in stages')
    .description(
      'Roll out policy changes to machines in stages: first those with a label, ' +
        'then a share, then all. Start the rollout before the changes. ' +
        'While it is open, machines outside the stages reached keep the policies of its ' +
        'start, so that new denies do not reach them either.',
    )
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  palisade rollout start --stage canary --stage 10% --stage 100%
  palisade rollout show
  palisade rollout advance`,
    )
  addStart(rollout, context)
  addShow(rollout, context)
  addList(rollout, context)
  addAdvance(rollout, context)
  addPause(rollout, context)
  addResume(rollout, context)
  addFinish(rollout, context)
  addRollBack(rollout, context)
}

function addStart(rollout: Command, context: RunContext): void {
  rollout
    .command('start')
    .description(
      'Start a rollout: from now on, changes reach only the machines of the first stage.',
    )
    .option('--stage <stage>', 'a label, or a share such as 10%; repeat in order', collect)
    .option('--max-rejected <limit>', 'machines that may refuse a change, or a share of them', '5%')
    .option('--wait <duration>', 'advance automatically after a time without trouble, such as 1h')
    .option('--force', 'start even if no machine has a label of the stages')
    .option('--json', 'print the rollout as the API returns it')
    .addHelpText(
      'after',
      `
Each rollout draws its own machines for a share. If more than --max-rejected of the machines reached
reject a change, the rollout pauses automatically.

Examples:
  palisade rollout start --stage canary --stage 10% --stage 100%
  palisade rollout start --stage canary,50%,100% --max-rejected 3 --wait 1h`,
    )
    .action(async (options: StartOptions) => {
      const { stage: stages = [], maxRejected, wait, force } = options
      if (stages.length === 0) throw usageError('write `--stage` at least once')
      const request = {
        stages: stages.map(parseStage),
        max_rejected: parseLimit(maxRejected),
        ...(wait === undefined ? {} : { wait_seconds: parseSeconds(wait, '--wait', WAIT) }),
        ...(force === undefined ? {} : { force }),
      }
      const rollouts = await connect(context)
      await presentRollout(context, options.json, await rollouts.start(request))
    })
}

function addShow(rollout: Command, context: RunContext): void {
  rollout
    .command('show')
    .description('Show the open or else the last rollout, and the progress of its machines.')
    .argument('[rollout]', 'id that `palisade rollout list` shows')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade rollout show\n  palisade rollout show --json')
    .action(async (id: string | undefined, { json }: JsonOption) => {
      if (id === '') throw usageError('the id of a rollout is empty')
      const rollouts = await connect(context)
      const shown = id ?? (await rollouts.newest())[0]?.id ?? (await findOpenRollout(rollouts)).id
      const status = await rollouts.get(shown)
      await present(context, json, status, () =>
        formatStatus(status, context.io.now(), context.style),
      )
    })
}

function addList(rollout: Command, context: RunContext): void {
  rollout
    .command('list')
    .description('List the newest hundred rollouts.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade rollout list')
    .action(async ({ json }: JsonOption) => {
      const data = await (await connect(context)).list()
      await present(context, json, { data }, () =>
        formatRollouts(data, context.io.now(), context.style),
      )
    })
}

function addAdvance(rollout: Command, context: RunContext): void {
  rollout
    .command('advance')
    .description('Advance the open rollout: its next stage gets the current policies.')
    .option('--to <stage>', 'number of a later stage, to skip stages')
    .option('--json', 'print the rollout as the API returns it')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade rollout advance\n  palisade rollout advance --to 3',
    )
    .action(async ({ to, json }: JsonOption & { readonly to?: string }) => {
      const wanted = to === undefined ? null : parseWhole(to, '--to')
      const rollouts = await connect(context)
      const { id, stage } = await findOpenRollout(rollouts)
      await presentRollout(context, json, await rollouts.advance(id, wanted ?? stage + 1))
    })
}

function addPause(rollout: Command, context: RunContext): void {
  rollout
    .command('pause')
    .description('Keep the open rollout at its stage until it is resumed.')
    .option('--json', 'print the rollout as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade rollout pause')
    .action(async ({ json }: JsonOption) => {
      const rollouts = await connect(context)
      const { id } = await findOpenRollout(rollouts)
      await presentRollout(context, json, await rollouts.pause(id))
    })
}

function addResume(rollout: Command, context: RunContext): void {
  rollout
    .command('resume')
    .description('Continue after a pause; rejections before it no longer count.')
    .option('--max-rejected <limit>', 'another limit, such as 20 or 10%')
    .option('--json', 'print the rollout as the API returns it')
    .addHelpText(
      'after',
      `
Machines that still reject the change report it within six hours, or at their next attempt.

Examples:
  palisade rollout resume
  palisade rollout resume --max-rejected 20`,
    )
    .action(async (options: JsonOption & { readonly maxRejected?: string }) => {
      const { maxRejected, json } = options
      const limit = maxRejected === undefined ? undefined : parseLimit(maxRejected)
      const rollouts = await connect(context)
      const { id } = await findOpenRollout(rollouts)
      await presentRollout(context, json, await rollouts.resume(id, limit))
    })
}

function addFinish(rollout: Command, context: RunContext): void {
  rollout
    .command('finish')
    .description('End the open rollout: every machine gets the current policies.')
    .option('--yes', 'do not ask')
    .option('--json', 'print the rollout as the API returns it')
    .addHelpText('after', '\nExamples:\n  palisade rollout finish --yes')
    .action(async ({ yes, json }: ConfirmOptions) => {
      const rollouts = await connect(context)
      const { id, stage, stages } = await findOpenRollout(rollouts)
      const reached = `stage ${stage} of ${stages.length}`
      await requireConfirmation(context, yes, {
        question: `Give every machine the current policies, from ${reached}?`,
        undone: 'the rollout is still open',
      })
      await presentRollout(context, json, await rollouts.finish(id))
    })
}

function addRollBack(rollout: Command, context: RunContext): void {
  rollout
    .command('roll-back')
    .description(
      'End the open rollout: the policies of its start become a new revision, for everybody.',
    )
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade rollout roll-back --yes')
    .action(async ({ yes, json }: ConfirmOptions) => {
      const { style } = context
      const rollouts = await connect(context)
      const { id, base_revision } = await findOpenRollout(rollouts)
      const question = `Undo every policy change since revision ${base_revision}?`
      await requireConfirmation(context, yes, { question, undone: 'nothing was rolled back' })
      const done = await rollouts.rollBack(id)
      await present(context, json, done, () =>
        [
          ...done.changes.map(({ change, name }) => style.plain(`${change} ${name}`)),
          ...done.left_out.map(({ name }) =>
            style.plain(`left out ${name}: all of its teams were deleted`),
          ),
          style.good(`rolled back to revision ${base_revision}, which is now ${done.revision}`),
        ]
          .join('\n')
          .concat('\n'),
      )
    })
}

async function connect(context: RunContext): Promise<RolloutsClient> {
  return (await connectOrganization(context.io)).organization.rollouts
}

function presentRollout(
  context: RunContext,
  json: true | undefined,
  rollout: Rollout,
): Promise<void> {
  const { style } = context
  const { stage, stages } = rollout
  const reached = `stage ${stage} of ${stages.length}`
  const state = `rollout ${rollout.id} is ${describeState(rollout)}`
  return present(context, json, rollout, () =>
    isOpen(rollout)
      ? `${style.plain(`${state} at ${reached}`)}\n${style.bad(describeOpenRollout(rollout))}\n`
      : style.plain(state).concat('\n'),
  )
}
