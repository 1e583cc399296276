import { Command } from 'commander'
import { addBackup } from './backup-commands.ts'
import { addCopy } from './copy-commands.ts'
import { addDevice } from './device-commands.ts'
import { addEvidence } from './evidence-commands.ts'
import { addInit } from './init-command.ts'
import { addKeys } from './keys-commands.ts'
import { addOrganization } from './organization-commands.ts'
import { SETTINGS_HELP } from './settings-help.ts'
import { addStart } from './start-command.ts'
import { addUser } from './user-commands.ts'
import { addHistory, addVerifyHistory } from './history-commands.ts'
import { readVersion } from '../../platform/version.ts'

/** The commands of `palisade-server`. Each throws ConfigError, CommandFailure or a bug. */
export function createProgram(): Command {
  const program = new Command('palisade-server')
    .description('the policy administration point: policies, accounts and signed distribution')
    .version(readVersion(), '--version', 'print the version')
    .option('--debug', 'print the stack traces of errors')
    .addHelpText('after', SETTINGS_HELP)
    .exitOverride()
    // Input of a user stands in back-ticks, as in every other message.
    .configureOutput({ outputError: (text, print) => print(text.replaceAll("'", '`')) })

  addStart(program)
  addInit(program)
  addOrganization(program)
  addUser(program)
  addDevice(program)
  addVerifyHistory(program)
  addHistory(program)
  addEvidence(program)
  addKeys(program)
  addBackup(program)
  addCopy(program)
  program
    .command('version')
    .description('print the version')
    .action(() => {
      process.stdout.write(`${readVersion()}\n`)
    })
  return program
}
