import type { AgentClient } from '@palisade/client'
import { join } from 'node:path'
import { rm } from 'node:fs/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { checkAgent } from '../../../packages/cli/src/doctor/agent-checks.ts'
import type { Check } from '../../../packages/cli/src/doctor/check.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'
import { startWholeAgent } from '../../agent/fixture/whole-agent.ts'
import { openTestServer } from '../../server/test-server.ts'
import { runCli } from '../run-cli.ts'

it('the mend of a revoked machine leads to one whose policies are in force', async () => {
  const { server, createOrganization, now } = await openTestServer()
  // tuf-js reads the clock of the process.
  vi.useFakeTimers({ toFake: ['Date'], now: now() })
  onTestFinished(() => void vi.useRealTimers())
  const { personal_token } = await createOrganization('acme', 'alice')
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const directory = await temporaryDirectory()
  const enrolment = join(directory, 'agent', 'enrolment.json')
  const env = { PALISADE_DATA_DIR: directory }
  const setting = { home: directory, cwd: directory, stdin: personal_token, now, env }
  const run = async (...argv: string[]): Promise<string> => {
    const { code, out, err } = await runCli(argv, setting)
    expect(`${argv.join(' ')}: ${code} ${err}`).toContain(`: 0 `)
    return out
  }
  const examine = async (agent: AgentClient): Promise<readonly Check[]> => {
    await agent.sync()
    const checks = checkAgent(await agent.status(), { version: '0.0.0', nowMs: now(), enrolment })
    return checks.filter(({ name }) => name === 'policy' || name === 'server')
  }
  await run('login', '--server', url, '--org', 'acme', '--username', 'alice', '--token-stdin')
  await run('enrol', '--user', 'alice')
  const first = await startWholeAgent(directory, now)
  expect(await examine(first.client)).toMatchObject([{ outcome: 'ok' }, { outcome: 'ok' }])

  const { device_id } = await first.client.status()
  await run('device', 'revoke', device_id, '--yes')
  const checks = await examine(first.client)

  const [mend, ...others] = new Set(checks.map((check) => check.mend))
  expect(others).toEqual([])
  const [, files, argv = ''] =
    /`rm (.+) && palisade (.+)`, then restart the agent$/.exec(mend!) ?? []
  expect(files).toBe(`${enrolment} ${enrolment}.key`)
  for (const file of files?.split(' ') ?? []) await rm(file)
  await run(...argv.split(' '))
  await first.stop()
  const second = await startWholeAgent(directory, now)
  expect(await examine(second.client)).toMatchObject([{ outcome: 'ok' }, { outcome: 'ok' }])
})
