import type { Command } from 'commander'
import { readProcessConfig } from '../../config/config.ts'
import { systemSources } from '../../platform/sources.ts'
import { enrolDeviceCommand, type EnrolOptions } from '../device.ts'

/** `device enrol`. */
export function addDevice(program: Command): void {
  program
    .command('device')
    .description('machines')
    .command('enrol')
    .description('enrol a device and write its enrolment and key files (mode 0600)')
    .requiredOption('--org <name>', 'organization of the device')
    .option('--user <user>', 'member who uses the device; no user when left out')
    .option('--name <name>', 'display name of the machine')
    .requiredOption('--server <url>', 'origin under which the device reaches the server')
    .requiredOption('--out <file>', 'enrolment file to write; the private key goes to <file>.key')
    .option('--force', 'replace an existing file')
    .option('--json', 'print one JSON object, without the key')
    .addHelpText(
      'after',
      '\nExamples:\n  palisade-server device enrol --org acme --user alice ' +
        '--server https://palisade.example.com --out ./device.json',
    )
    .action((options: EnrolOptions) =>
      enrolDeviceCommand(readProcessConfig(), systemSources(), options),
    )
}
