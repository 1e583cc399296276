import { agentStatusSchema, DEFAULT_EVIDENCE_SETTINGS } from '@palisade/protocol'
import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { enrolledMachine, runAgent, waitForState } from '../../fixture/agent-process.ts'
import { askAgent } from '../../fixture/local-request.ts'
import { rulesOf, serve } from '../../fixture/view-repository.ts'
import { readRecords } from '../record-scene.ts'
import { startRecordServer } from './record-server.ts'

const RECORDS = '/api/v1/device/records'
const WAIT = { timeout: 300_000, interval: 50 } as const

it('an agent that is killed again and again uploads each line on its disk once', async () => {
  const machine = await enrolledMachine()
  const records = await startRecordServer()
  const evidence = { ...DEFAULT_EVIDENCE_SETTINGS, upload: 'full' }
  const served = machine.repository.release({
    ...rulesOf(['allow', 'connect:tcp', 'good.test']),
    settings: { evidence },
    revision: 7,
    atMs: Date.now(),
  })
  machine.server.answer = (request, response) => {
    if (request.url === RECORDS) records.answer(request, response)
    else serve(served)(request, response)
  }
  const directory = join(machine.dataDir, 'agent', 'records')
  const decide = async (host: string): Promise<void> => {
    const body = JSON.stringify({ action: 'connect:tcp', host, port: 443 })
    const answer = await askAgent(machine.socketPath, 'POST', '/v1/decide', body)
    expect(answer.status).toBe(200)
  }
  const readUpload = async () => {
    const { body } = await askAgent(machine.socketPath, 'GET', '/v1/status')
    return agentStatusSchema.parse(body).upload
  }

  for (let run = 1; run <= 4; run += 1) {
    // The first receipt of each run is lost after the commit.
    records.next.push((response, batch) => {
      if (batch !== null) records.commit(batch)
      response.destroy()
    })
    const { child } = runAgent(['start'], machine.env)
    await waitForState(machine.socketPath, 'fresh')
    const sent = records.batches.length
    const kept = run === 1 ? 0 : (await readRecords(directory)).length
    for (let index = 0; index < 20; index += 1) await decide(`run${run}-${index}.test`)
    // Every other run is killed before its denials are sent, the others after a commit.
    const hasEnough = async (): Promise<boolean> =>
      run % 2 === 1 ? records.batches.length > sent : (await readRecords(directory)).length > kept
    await expect.poll(hasEnough, WAIT).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  records.next.splice(0)
  const { child, ended } = runAgent(['start'], machine.env)
  await waitForState(machine.socketPath, 'fresh')

  const texts = records.batches.map(({ text }) => text).join('')
  const salts = new Set((await readRecords(directory)).map(({ salt = '' }) => salt))
  expect(salts.size).toBe(4)
  for (const salt of salts) {
    expect(salt).toMatch(/^[0-9a-f-]{36}$/)
    expect(texts).not.toContain(salt)
  }
  const lines = (await readRecords(directory)).map(({ boot, seq }) => `${boot} ${seq}`)
  await expect.poll(() => records.covered().length, WAIT).toBeGreaterThanOrEqual(lines.length)
  expect(records.covered().slice(0, lines.length)).toEqual(lines)
  expect(new Set(records.covered()).size).toBe(records.covered().length)
  await expect.poll(readUpload, WAIT).toMatchObject({ mode: 'full', waiting: 0, last_error: null })

  // The upload leaves nothing on the disk that another user could read.
  for (const name of await readdir(join(machine.dataDir, 'agent'), { recursive: true })) {
    const { mode } = await stat(join(machine.dataDir, 'agent', name))
    expect([name, mode & 0o077]).toEqual([name, 0])
  }
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
})
