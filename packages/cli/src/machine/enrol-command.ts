import {
  createDeviceKey,
  createProver,
  enrolMachine,
  keepName,
  keyFileOf,
  parseServerUrl,
  readPrivateFile,
  writeKeyFile,
} from '@palisade/client'
import {
  nameOfHost,
  parseEnrolmentToken,
  type DeviceKey,
  type Enrolment,
  type KeptEnrolment,
} from '@palisade/protocol'
import type { Command } from 'commander'
import { constants } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { connectOrganization } from '../account/connect-server.ts'
import { readSecretLine } from '../account/read-secret.ts'
import { enrolmentPath } from '../agent/start-advice.ts'
import { parseDeviceName } from '../options/device-name.ts'
import { usageError } from '../runtime/cli-error.ts'
import { notWritten, resolveFile, unreadable } from '../runtime/file-argument.ts'
import type { Io } from '../runtime/io.ts'
import { present, type RunContext } from '../runtime/run-context.ts'

const MAX_TOKEN_BYTES = 4096

interface EnrolOptions {
  readonly out?: string
  readonly token?: string
  readonly user?: string
  readonly name?: string
  readonly json?: true
}

/** Asks a server to enrol the machine with that key. */
type Enrol = (key: DeviceKey) => Promise<KeptEnrolment>

/** `palisade enrol` */
export function addEnrolCommand(program: Command, context: RunContext): void {
  program
    .command('enrol')
    .summary('enrol this machine and write the files of its agent')
    .description(
      'Enrol a machine: create its key, prove it to the server, and write the two files that ' +
        'the agent reads: the enrolment, and the private key, which never leaves this machine.',
    )
    .option(
      '--out <file>',
      'enrolment file to create; the key goes to <file>.key (default: where the agent looks)',
    )
    .option(
      '--token <file>',
      'enrolment token of the machine, - for standard input; needs no login',
    )
    .option('--user <name>', 'member who uses the machine; without it the machine has no user')
    .option('--name <name>', 'display name of the machine (default: its host name)')
    .option('--json', 'print one JSON object, without the key')
    .addHelpText(
      'after',
      `
With --token the machine is enrolled with the settings of the token and without a user; other users
must not be able to read the file. Without --token, the account that you have signed in with enrols
the machine: any member may enrol machines of their own with --user. A machine without a user gets
organization-wide policies only. No file is replaced. A missing directory is created with mode 0700.

Without --out the file is PALISADE_ENROLMENT, or agent/enrolment.json in PALISADE_DATA_DIR
(.palisade).

Examples:
  palisade enrol --user alice
  palisade enrol --user alice --name laptop-12 --out enrolment.json
  palisade enrol --token /etc/palisade/token --out /var/lib/palisade/agent/enrolment.json
  palisade enrol --token - --out build-machine.json < token`,
    )
    .action(async (options: EnrolOptions) => {
      const { io, style } = context
      const enrol = await chooseEnrolment(io, options)
      const out = options.out ?? enrolmentPath(io)
      const enrolment = await writeEnrolment(resolveFile(io, out), out, enrol)
      const { org, user, device_id } = enrolment
      await present(
        context,
        options.json,
        { file: out, org, user, device_id },
        () =>
          style.plain(
            `enrolled ${device_id} for ${user ?? 'no user'}; enrolment in ${out}, ` +
              `key in ${keyFileOf(out)}`,
          ) + '\n',
      )
    })
}

async function chooseEnrolment(io: Io, options: EnrolOptions): Promise<Enrol> {
  const { token: tokenFile, user } = options
  const clock = io.now
  const named = nameMachine(io, options.name)
  if (tokenFile === undefined) {
    const { organization } = await connectOrganization(io)
    return (key) =>
      named((name) => organization.devices.enrol({ prove: createProver(key, clock), user, name }))
  }
  if (user !== undefined)
    throw usageError('`--user` excludes `--token`; a token enrols machines without a user')
  const token =
    tokenFile === '-' ? await readSecretLine(io, 'token') : await readToken(io, tokenFile)
  const server = parseEnrolmentToken(token)?.server
  if (server === undefined)
    throw usageError('not an enrolment token; copy the whole line that begins with `pal_enr_`')
  parseServerUrl(server)
  return (key) => named((name) => enrolMachine({ token, key, name, fetch: io.fetch, clock }))
}

type Ask = (name: string | undefined) => Promise<Enrolment>

/** Enrols with the given name, or with the host name. */
function nameMachine(io: Io, given: string | undefined): (ask: Ask) => Promise<KeptEnrolment> {
  const name =
    given === undefined ? (nameOfHost(io.hostName) ?? undefined) : parseDeviceName(given, '--name')
  return async (ask) => keepName(await ask(name), name)
}

async function readToken(io: Io, name: string): Promise<string> {
  const file = await readPrivateFile(resolveFile(io, name), MAX_TOKEN_BYTES)
  if (!file.ok) throw unreadable(name, file.message)
  return file.text.trim()
}

/**
 * Creates both files before the request: an enrolled machine whose key could not be written can
 * only be revoked. Follows no symbolic link and replaces no file.
 */
async function writeEnrolment(path: string, shown: string, enrol: Enrol): Promise<KeptEnrolment> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY
  const handle = await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    .then(() => open(path, flags, 0o600))
    .catch((error: unknown) => {
      throw notWritten(shown, error)
    })
  const created = [path]
  let complete = false
  try {
    const key = createDeviceKey()
    await writeKeyFile(keyFileOf(path), key).catch((error: unknown) => {
      throw notWritten(keyFileOf(shown), error)
    })
    created.push(keyFileOf(path))
    const enrolment = await enrol(key)
    await handle.writeFile(`${JSON.stringify(enrolment, null, 2)}\n`)
    await handle.sync()
    complete = true
    return enrolment
  } finally {
    await handle.close()
    if (!complete) for (const each of created) await rm(each, { force: true })
  }
}
