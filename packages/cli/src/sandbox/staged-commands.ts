import { createStagedClient } from '@palisade/client'
import type { Command } from 'commander'
import { reachAgent } from '../agent/reach-agent.ts'
import { usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { formatChanges, formatOutcome, formatSessions } from './format-staged.ts'
import { askStaged, reviewStaged } from './review-staged.ts'

interface JsonOption {
  readonly json?: true
}

/** `palisade staged` */
export function addStagedCommands(program: Command, context: RunContext): void {
  const staged = program
    .command('staged')
    .summary('list, copy out or discard changes of strict sandboxes')
    .description('Handle the changes that `palisade run --strict` has kept apart.')
    .helpCommand(false)
    .addHelpText('after', HELP)
  addListCommand(staged, context)
  addShowCommand(staged, context)
  addApplyCommand(staged, context)
  addDiscardCommand(staged, context)
  addReviewCommand(staged, context)
}

const HELP = `
Changes are kept in the data directory of the agent for two weeks, of at most 32 sandboxes; beyond
them, the oldest that policy refuses as a whole goes away. Each is judged by the policy of the
moment in which it is copied out. A path that was changed outside since the sandbox started is a
conflict and stays as it is.

Examples:
  palisade staged ls
  palisade staged show 3f9c2a71d0e4
  palisade staged apply 3f9c2a71d0e4
  palisade staged discard 3f9c2a71d0e4 81d2c0aa47f3`

function addListCommand(staged: Command, context: RunContext): void {
  staged
    .command('ls')
    .description('List the sandboxes with changes.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade staged ls')
    .action(async ({ json }: JsonOption) => {
      const list = await reachAgent(context.io, EXIT.failed, (agent) =>
        createStagedClient(agent).list(),
      )
      await present(context, json, list, () => formatSessions(list.sessions, context.style))
    })
}

function addShowCommand(staged: Command, context: RunContext): void {
  staged
    .command('show')
    .description('Show the changes of one sandbox, with the verdict of the policy on each.')
    .argument('<id>', ID)
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade staged show 3f9c2a71d0e4')
    .action(async (id: string, { json }: JsonOption) => {
      const shown = await askStaged(context, EXIT.failed)('show', id)
      await present(context, json, shown, () => formatChanges(shown, context.style))
    })
}

function addApplyCommand(staged: Command, context: RunContext): void {
  staged
    .command('apply')
    .description('Copy out the changes that the policy grants.')
    .argument('<id>', ID)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 all were copied out, 1 some were not

Examples:
  palisade staged apply 3f9c2a71d0e4`,
    )
    .action(async (id: string, { json }: JsonOption) => {
      const applied = await askStaged(context, EXIT.failed)('apply', id)
      if (applied.is_kept) context.exit(EXIT.failed)
      await present(
        context,
        json,
        applied,
        () => `${formatChanges(applied, context.style)}${formatOutcome(applied)}`,
      )
    })
}

function addDiscardCommand(staged: Command, context: RunContext): void {
  staged
    .command('discard')
    .description('Remove the changes of sandboxes.')
    .argument('[id...]', `${ID}, may be repeated`)
    .option('--all', 'of all sandboxes that have ended')
    .option('--json', 'print one JSON object for each sandbox')
    .addHelpText(
      'after',
      `
Examples:
  palisade staged discard 3f9c2a71d0e4 81d2c0aa47f3
  palisade staged discard --all`,
    )
    .action(async (ids: string[], { all, json }: JsonOption & { readonly all?: true }) => {
      if ((all === true) === ids.length > 0)
        throw usageError('name the sandboxes, or give `--all` for every one that has ended')
      for (const id of all === true ? await listKept(context) : ids) {
        const discarded = await askStaged(context, EXIT.failed)('discard', id)
        await present(context, json, discarded, () => formatOutcome(discarded))
      }
    })
}

async function listKept({ io }: RunContext): Promise<string[]> {
  const { sessions } = await reachAgent(io, EXIT.failed, (agent) =>
    createStagedClient(agent).list(),
  )
  return sessions.filter(({ state }) => state === 'kept').map(({ id }) => id)
}

/** The shell of `palisade run --strict` becomes this command once its own has ended. */
function addReviewCommand(staged: Command, context: RunContext): void {
  staged
    .command('review', { hidden: true })
    .argument('<id>')
    .argument('<status>')
    .option('--apply')
    .action(async (id: string, text: string, { apply }: { readonly apply?: true }) => {
      const status = Number(text)
      if (!/^\d{1,3}$/.test(text)) throw usageError(`\`${text}\` is not an exit code`)
      context.exit(await reviewStaged({ id, status, apply: apply === true }, context))
    })
}

const ID = 'id of the sandbox, as `palisade staged ls` lists it'
