import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCli } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

/** A data directory with an enrolment to `server`, and with the log that `npm start` leaves. */
async function prepare(dataDir: string, server: string, madeByNpmStart: boolean): Promise<void> {
  await mkdir(join(dataDir, 'agent'), { recursive: true, mode: 0o700 })
  const enrolment = JSON.stringify({ server, org: 'acme', user: 'alice', device_id: 'd1' }, null, 2)
  await writeFile(join(dataDir, 'agent', 'enrolment.json'), enrolment, { mode: 0o600 })
  if (madeByNpmStart) await writeFile(join(dataDir, 'server.log'), '')
}

async function adviceOf(
  cwd: string,
  env: Readonly<Record<string, string>> = {},
  argv: readonly string[] = ['status'],
): Promise<string> {
  const { err } = await runCli(argv, { cwd, env })
  return err.replace(/^.*it is not running; /s, '')
}

const CHECK = ['check', 'connect:tcp', 'example.com:443']

it.each([[['status']], [['sync']], [CHECK], [['explain', ...CHECK.slice(1)]]])(
  'suggests only the agent on a machine that another server has enrolled: %j',
  async (argv) => {
    await using directory = await temporaryDirectory()
    await prepare(join(directory.path, '.palisade'), 'http://127.0.0.1:8420', false)

    const advice = await adviceOf(directory.path, {}, argv)

    expect(advice).toMatch(/^start it with `palisade-agent start`/)
    expect(advice).not.toContain('npm start')
  },
)

it('suggests `npm start` in a directory that it has created', async () => {
  await using directory = await temporaryDirectory()
  await prepare(join(directory.path, '.palisade'), 'http://127.0.0.1:8420', true)

  expect(await adviceOf(directory.path)).toBe('start it with `npm start`\n')
})

it('suggests only the agent if a machine left the server that `npm start` created', async () => {
  await using directory = await temporaryDirectory()
  await prepare(join(directory.path, '.palisade'), 'https://palisade.example.com', true)

  expect(await adviceOf(directory.path)).toBe('start it with `palisade-agent start`\n')
})

it('names the variables that find the same agent, quoted for a shell', async () => {
  await using directory = await temporaryDirectory()
  const dataDir = join(directory.path, "it's mine")
  await prepare(dataDir, 'https://palisade.example.com', false)
  const socket = join(directory.path, 'a.sock')

  const env = { PALISADE_DATA_DIR: dataDir, PALISADE_AGENT_SOCKET: socket }

  expect(await adviceOf(directory.path, env)).toBe(
    `start it with \`PALISADE_DATA_DIR='${directory.path}/it'\\''s mine' ` +
      `PALISADE_AGENT_SOCKET=${socket} palisade-agent start\`\n`,
  )
})

it('writes commands as npm runs them in a checkout, without the usual directory', async () => {
  await using directory = await temporaryDirectory()
  const dataDir = join(directory.path, '.palisade')
  await prepare(dataDir, 'https://palisade.example.com', false)
  const env = {
    PALISADE_DATA_DIR: dataDir,
    npm_lifecycle_event: 'palisade',
    npm_package_json: join(directory.path, 'package.json'),
  }

  expect(await adviceOf('/nonexistent', env)).toBe(
    'start it with `npm run -s palisade-agent -- start`\n',
  )
})

it('reports that no machine is enrolled', async () => {
  await using directory = await temporaryDirectory()

  const advice = await adviceOf(directory.path)

  expect(advice).toContain(`no machine is enrolled in \`${directory.path}/.palisade\``)
  expect(advice).toContain('palisade enrol')
})
