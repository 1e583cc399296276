import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'
import { initCommand, type InitOptions } from '../organization.ts'

/** `init`. */
export function addInit(program: Command): void {
  program
    .command('init')
    .description('create the first organization and its owner, and print their secrets once')
    .requiredOption('--org <name>', 'name of the organization')
    .requiredOption('--owner <user>', 'name of its owner')
    .option('--json', 'print one JSON object')
    .option('--if-empty', 'do nothing if there is an organization already')
    .option('--device <id>', 'fail unless the organization has this device')
    .addHelpText('after', '\nExamples:\n  palisade-server init --org acme --owner alice --json')
    .action((options: InitOptions) => initCommand(readProcessConfig(), systemSources(), options))
}
