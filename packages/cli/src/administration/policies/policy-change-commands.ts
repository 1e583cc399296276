import { POLICY_MODES, type PolicyMode } from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { connectOrganization } from '../../account/connect-server.ts'
import { findPolicy } from '../../lookup/find-policy.ts'
import { resolveTeams } from '../../lookup/find-team.ts'
import { usageError } from '../../runtime/cli-error.ts'
import { present, type RunContext } from '../../runtime/run-context.ts'
import { warnOfRollout } from '../rollouts/warn-of-rollout.ts'

interface JsonOption {
  readonly json?: true
}

/** `palisade policy update|rename|teams` */
export function addPolicyChangeCommands(policy: Command, context: RunContext): void {
  addUpdate(policy, context)
  addRename(policy, context)
  addTeams(policy, context)
}

function addUpdate(policy: Command, context: RunContext): void {
  policy
    .command('update')
    .description('Change the mode of a policy.')
    .argument('<policy>', 'id or name')
    .addOption(
      new Option('--mode <mode>', 'shadow: not enforced, shows where it would differ').choices(
        POLICY_MODES,
      ),
    )
    .option('--json', 'print the policy before and after')
    .addHelpText(
      'after',
      `
A shadow policy allows and denies nothing. Machines record where a decision would differ with it.
A policy that becomes a shadow no longer denies either.

Examples:
  palisade policy update "stricter web" --mode shadow
  palisade policy update "stricter web" --mode enforce`,
    )
    .action(async (idOrName: string, options: JsonOption & { readonly mode?: PolicyMode }) => {
      const { mode } = options
      if (mode === undefined) throw usageError('nothing to change; write `--mode shadow`')
      const { organization } = await connectOrganization(context.io)
      const found = await findPolicy(organization, idOrName)
      const changed = await organization.policies.update(found.id, { mode })
      const means = mode === 'shadow' ? 'is a shadow now and not enforced' : 'is enforced now'
      await present(context, options.json, changed, () =>
        context.style.plain(`policy \`${changed.new.name}\` ${means}`).concat('\n'),
      )
      await warnOfRollout(context, organization)
    })
}

function addRename(policy: Command, context: RunContext): void {
  policy
    .command('rename')
    .description('Rename a policy; its rules and teams stay.')
    .argument('<policy>', 'id or name')
    .argument('<name>', 'new name, unique in the organization')
    .option('--json', 'print the policy before and after')
    .addHelpText('after', '\nExamples:\n  palisade policy rename web "public web"')
    .action(async (idOrName: string, name: string, options: JsonOption) => {
      const { organization } = await connectOrganization(context.io)
      const found = await findPolicy(organization, idOrName)
      const changed = await organization.policies.update(found.id, { name })
      await present(context, options.json, changed, () =>
        context.style
          .plain(`renamed policy \`${changed.old.name}\` to \`${changed.new.name}\``)
          .concat('\n'),
      )
    })
}

function addTeams(policy: Command, context: RunContext): void {
  policy
    .command('teams')
    .description('Replace the teams that a policy applies to.')
    .argument('<policy>', 'id or name')
    .argument('[teams...]', 'ids or names of all its teams')
    .option('--everybody', 'apply the policy to everybody instead')
    .option('--json', 'print the policy before and after')
    .addHelpText(
      'after',
      `
A policy without a team applies to everybody. As that may affect many more machines, it needs the
option --everybody.

Examples:
  palisade policy teams web research backend
  palisade policy teams web --everybody`,
    )
    .action(
      async (
        idOrName: string,
        written: string[],
        options: JsonOption & { readonly everybody?: true },
      ) => {
        if ((written.length === 0) !== (options.everybody === true))
          throw usageError('write the teams of the policy, or `--everybody`')
        const { organization } = await connectOrganization(context.io)
        const found = await findPolicy(organization, idOrName)
        const teams = written.length === 0 ? [] : await resolveTeams(organization, written)
        const changed = await organization.policies.update(found.id, { scope: { teams } })
        const whom = written.length === 0 ? 'everybody' : written.join(', ')
        await present(context, options.json, changed, () =>
          context.style.plain(`policy \`${changed.new.name}\` applies to ${whom}`).concat('\n'),
        )
        await warnOfRollout(context, organization)
      },
    )
}
