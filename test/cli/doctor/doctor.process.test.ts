import { spawnSync } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { captureProgram } from '../../../packages/cli/src/runtime/programs/capture-program.ts'
import { startMachine } from '../proxied-programs/machine.ts'
import { runCli } from '../run-cli.ts'
import { WELL, examine, checksOf } from './doctor-scene.ts'

function hasProgram(name: string): boolean {
  return spawnSync(name, ['--version']).error === undefined
}

describe('palisade doctor', () => {
  it('finds every installed program refused by the proxy, and no query outside', async () => {
    const machine = await startMachine(WELL)
    await chmod(machine.env['PALISADE_AGENT_SOCKET'] ?? '', 0o600)
    const { out: exported } = await runCli(['env', '--json'], machine)

    const run = await examine(machine, JSON.parse(exported) as object, ['--json'])

    const checks = checksOf(run)
    const failed = [...checks.values()].filter(({ outcome }) => outcome === 'fail')
    expect(failed).toEqual([])
    expect(run.code).toBe(0)
    for (const program of ['curl', 'wget', 'git', 'npm', 'pip', 'node'])
      expect(checks.get(`program:${program}`)?.outcome, program).toBe(
        hasProgram(program) ? 'ok' : 'skip',
      )
    for (const name of ['agent', 'socket', 'policy', 'server', 'clock', 'self-probe', 'proxy'])
      expect(checks.get(name), name).toMatchObject({ outcome: 'ok', mend: null })
    for (const name of ['records', 'record-chain'])
      expect(checks.get(name), name).toMatchObject({ outcome: 'ok', mend: null })
    expect(checks.get('shell')?.outcome).toBe('ok')
    expect(machine.proxy.resolved).toEqual([])
    expect(machine.proxy.decisions.every(({ decision }) => decision === 'deny')).toBe(true)
  }, 240_000)

  it('fails when records cannot be written, or were changed', async () => {
    const machine = await startMachine(
      { ...WELL, records: { written: 0, lost: 0, bytes: 0, error: 'ENOSPC' } },
      { intact: false, faults: [{ file: '00000001.jsonl', line: 7, fault: 'broken_chain' }] },
    )

    const run = await examine(machine, {}, ['--json'])

    expect(run.code).toBe(1)
    const checks = checksOf(run)
    expect(checks.get('records')).toEqual({
      name: 'records',
      outcome: 'fail',
      detail: 'cannot be written (ENOSPC)',
      mend: expect.stringContaining('.palisade/agent/records`'),
    })
    expect(checks.get('record-chain')).toMatchObject({
      outcome: 'fail',
      detail: 'the records were changed: 00000001.jsonl, line 7 (broken_chain)',
      mend: expect.stringContaining('palisade log --verify'),
    })
  })

  it('warns when the agent cannot verify its records', async () => {
    const machine = await startMachine(WELL, { lines: -0.5 })

    const run = await examine(machine, {}, ['--json'])

    expect(checksOf(run).get('records')).toMatchObject({
      outcome: 'warn',
      detail: expect.stringContaining('unexpected'),
    })
    expect(checksOf(run).has('program:curl')).toBe(true)
  })
})

describe('captureProgram', () => {
  it('ends a program that takes too long, with its children', async () => {
    const command = ['sh', '-c', 'sleep 600 & sleep 600'] as const

    const env = { PATH: process.env['PATH'] ?? '' }
    expect(await captureProgram(command, env, 200)).toEqual({ kind: 'timeout' })
    expect(await captureProgram(['sh', '-c', 'echo a; echo b >&2'], env, 60_000)).toMatchObject({
      kind: 'ended',
      code: 0,
      output: expect.stringMatching(/^(a\nb|b\na)\n$/),
    })
    expect(await captureProgram(['/nonexistent'], env, 60_000)).toEqual({ kind: 'missing' })
  })
})
