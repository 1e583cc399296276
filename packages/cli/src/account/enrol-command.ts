import type { Enrolment } from '@palisade/protocol'
import type { Command } from 'commander'
import { constants } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { resolveFile } from '../file-argument.ts'
import { present, type RunContext } from '../run-context.ts'
import { connectOrganization } from './connect-server.ts'
import { notWritten } from './credentials-file.ts'

interface EnrolOptions {
  readonly out: string
  readonly user?: string
  readonly json?: true
}

/** `palisade enrol` */
export function addEnrolCommand(program: Command, context: RunContext): void {
  program
    .command('enrol')
    .summary("write a machine's token file")
    .description('Enrol a machine with the server and write the token file that its agent reads.')
    .requiredOption('--out <file>', 'token file to create (mode 0600); must not exist')
    .option('--user <name>', 'member whose machine it is; without one it has no user')
    .option('--json', 'print one JSON object, without the token')
    .addHelpText(
      'after',
      `
Examples:
  palisade enrol --user alice --out enrolment.json
  palisade enrol --out build-machine.json`,
    )
    .action(async (options: EnrolOptions) => {
      const { io, style } = context
      const { organization } = await connectOrganization(io)
      const enrolment = await writeEnrolment(resolveFile(io, options.out), options.out, () =>
        organization.devices.enrol({ user: options.user }),
      )
      const { org, user, device_id } = enrolment
      await present(
        context,
        options.json,
        { file: options.out, org, user, device_id },
        () =>
          style.plain(`enrolled ${device_id} for ${user ?? 'no user'}; token in ${options.out}`) +
          '\n',
      )
    })
}

/**
 * Creates the file before it asks the server: a machine that is enrolled but whose token went
 * nowhere could only be revoked. No link is followed, and no file is replaced.
 */
async function writeEnrolment(
  path: string,
  shown: string,
  enrol: () => Promise<Enrolment>,
): Promise<Enrolment> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY
  const handle = await open(path, flags, 0o600).catch((error: unknown) => {
    throw notWritten(shown, error)
  })
  let complete = false
  try {
    const enrolment = await enrol()
    await handle.writeFile(`${JSON.stringify(enrolment, null, 2)}\n`)
    await handle.sync()
    complete = true
    return enrolment
  } finally {
    await handle.close()
    if (!complete) await rm(path, { force: true })
  }
}
