import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'
import { createOrganizationCommand } from '../organization.ts'
import {
  setOrganizationCommand,
  type SetOrganizationOptions,
} from '../organization-distribution.ts'
import {
  entitleOrganizationCommand,
  listOrganizationsCommand,
  raiseRevisionsCommand,
  showOrganizationCommand,
  type OrganizationOptions,
} from '../organization-settings.ts'

/** `org create|list|show|set|entitle|unentitle|raise-revisions`. */
export function addOrganization(program: Command): void {
  const org = program.command('org').description('organizations')
  org
    .command('create')
    .description('add an organization; works while the server runs')
    .argument('<name>', 'name of the organization')
    .requiredOption(
      '--owner <user>',
      'name of its owner; a new user is created, an existing one invited',
    )
    .option('--without-governance', 'the organization may not use governance')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade-server org create initech --owner bob --json')
    .action((name: string, options: { owner: string; withoutGovernance?: true; json?: true }) =>
      createOrganizationCommand(readProcessConfig(), systemSources(), { ...options, org: name }),
    )
  org
    .command('list')
    .description('list the organizations')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade-server org list')
    .action((options: OrganizationOptions) =>
      listOrganizationsCommand(readProcessConfig(), options),
    )
  org
    .command('show')
    .description('show one organization with its settings')
    .argument('<name>', 'name of the organization')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  palisade-server org show acme --json')
    .action((name: string, options: OrganizationOptions) =>
      showOrganizationCommand(readProcessConfig(), name, options),
    )
  org
    .command('set')
    .description('set how long machines trust a policy, and which hosts stay allowed after that')
    .argument('<name>', 'name of the organization')
    .option('--fresh-for <time>', 'time until a policy is stale, but still in force: 1h to 30d')
    .option(
      '--expires-after <time>',
      'time until a policy denies everything: at least as long, up to 90d',
    )
    .option('--offline-allow <host...>', 'hosts that stay allowed, written as in rules')
    .option('--no-offline-allow', 'no hosts stay allowed')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Settings without an option do not change. Settings are signed together with policies, and reach
machines at their next poll.

Examples:
  palisade-server org set acme --fresh-for 12h --expires-after 3d \\
      --offline-allow vpn.example.com:443`,
    )
    .action((name: string, options: SetOrganizationOptions) =>
      setOrganizationCommand(readProcessConfig(), systemSources(), name, options),
    )
  org
    .command('raise-revisions')
    .description('let machines accept policies again after a restore without palisade-server')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Machines refuse a revision lower than their last one. \`palisade-server restore\` raises all
revisions itself. Run this command after \`pg_restore\`, a point-in-time recovery, or copying files
back. It also ends all grants of access and open requests, because some may have ended since the
backup. The history of every organization records it. Works while the server runs.

Examples:
  palisade-server org raise-revisions`,
    )
    .action((options: OrganizationOptions) =>
      raiseRevisionsCommand(readProcessConfig(), systemSources(), options),
    )
  for (const [verb, entitled, description] of [
    ['entitle', true, 'let an organization use governance, from the next request on'],
    ['unentitle', false, 'stop an organization from using governance, from the next request on'],
  ] as const)
    org
      .command(verb)
      .description(description)
      .argument('<name>', 'name of the organization')
      .addHelpText('after', `\nExamples:\n  palisade-server org ${verb} initech`)
      .action((name: string) =>
        entitleOrganizationCommand(readProcessConfig(), systemSources(), { name, entitled }),
      )
}
