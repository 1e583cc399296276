import type { LimitMechanisms } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { checkLimits, describeLimits } from '../../../packages/cli/src/doctor/limit-check.ts'

describe('the check of limits', () => {
  it.each<[LimitMechanisms, string, string]>([
    [{ processes: 'cgroup', memory: 'cgroup' }, 'ok', 'and memory by a control group'],
    [{ processes: 'cgroup', memory: null }, 'ok', '`--limit memory` needs a service'],
    [{ processes: 'rlimit', memory: null }, 'ok', 'by the kernel for each user'],
    [{ processes: null, memory: null }, 'warn', 'nothing bounds the processes'],
  ])('describes %j', (mechanisms, outcome, detail) => {
    const check = describeLimits(mechanisms)
    expect(check).toMatchObject({ outcome, detail: expect.stringContaining(detail) })
  })

  it('is skipped beside Linux, and without an answer', async () => {
    const env = { PALISADE_AGENT_SOCKET: '/dev/null/agent.sock' }
    const io = { env, cwd: '/', isInSandbox: () => false }
    const checks = [
      { ...io, platform: 'darwin' },
      { ...io, platform: 'linux' },
    ].map(checkLimits)
    const outcomes = (await Promise.all(checks)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['skip', 'skip'])
  })
})
