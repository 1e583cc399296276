import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { MachineDecision } from '../../../../agent/src/policy/decision/active-policy.ts'
import type { PolicyBundle } from '../../../../agent/src/policy/decision/policy-bundle.ts'
import { createCanaries, type Canaries } from '../../../../agent/src/probe/proxy/canaries.ts'
import { bundleClaims, bundleOf } from '../../fixture/bundle.ts'
import { startSandboxMachine } from '../../sandbox/fixture/machine.ts'

type Decide = Parameters<Canaries['decide']>[0]

function createTokens(): () => string {
  let count = 0
  return () => `token${'x'.repeat(12)}${(count += 1)}`
}

async function startProbe(
  bundle: PolicyBundle | null,
  changes: (canaries: Canaries) => Partial<Canaries> = () => ({}),
) {
  const machine = await startSandboxMachine(() => bundle)
  const canaries = createCanaries()
  const changed = { ...canaries, ...changes(canaries) }
  const probe = (mode: 'default' | 'strict' = 'default') =>
    machine.sandboxes.probe(mode, { canaries: changed, token: createTokens() })
  return { machine, probe }
}

/** As if the rules of a sandbox and of the policy were not applied. */
function withoutPolicy(decide: Decide): Decide {
  const allow = (made: MachineDecision): MachineDecision => {
    const { address_required: _, ...rest } = made
    const allowed = { ...rest, decision: 'allow', reason: 'rule', rules: [], hint: null } as const
    const isOpen = made.request !== null && !('address' in made.request)
    return isOpen ? { ...allowed, address_required: true } : allowed
  }
  return (request) => allow(decide(request))
}

/** Of all processes that run now. */
function commandLines(): readonly string[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return processes.flatMap((name) => {
    try {
      return [readFileSync(`/proc/${name}/cmdline`, 'utf8')]
    } catch {
      return []
    }
  })
}

afterEach(() => void vi.unstubAllEnvs())

describe('the self-probe of a sandbox', () => {
  it.each([
    ['under a policy that opens nothing', bundleClaims()],
    ['without any policy', null],
    [
      'under a policy that allows every name and address',
      bundleOf(['allow', 'connect:tcp', '**.internal', '0.0.0.0/0']),
    ],
  ])('holds %s', async (_, bundle) => {
    const { machine, probe } = await startProbe(bundle)

    expect(await probe()).toMatchObject({ ok: true })
    expect(machine.resolved).toEqual([])
  })

  it('holds in strict mode, and leaves no change behind', async () => {
    const { machine, probe } = await startProbe(bundleClaims())

    expect(await probe('strict')).toMatchObject({
      ok: true,
      detail: expect.stringContaining('a strict sandbox held') as string,
    })
    expect(readdirSync(join(machine.agentDir, 'staged-probe'))).toEqual([])
    expect(await machine.sandboxes.staged.list()).toMatchObject({ sessions: [] })
  })

  it('is neither recorded nor leaves a file, a sandbox or a directory', async () => {
    const { machine, probe } = await startProbe(bundleClaims())

    await probe()

    expect(machine.events).toEqual([])
    expect([...machine.sandboxes.all()]).toEqual([])
    expect(readdirSync(join(machine.agentDir, 'sandboxes'))).toEqual([])
  })

  it('keeps its files where no workspace can be, wherever temporary files go', async () => {
    const { machine, probe } = await startProbe(bundleClaims())
    // A program in a sandbox could replace the files of a probe below its workspace by links.
    vi.stubEnv('TMPDIR', join(machine.agentDir, 'missing'))

    expect(await probe()).toMatchObject({ ok: true })
  })

  it('shows its secrets in no command line, which every user can read', async () => {
    const { machine } = await startProbe(bundleClaims())
    const secret = randomBytes(8).toString('hex')
    let count = 0
    const token = (): string => `${secret}${(count += 1)}`
    const over = new AbortController()
    const probing = machine.sandboxes
      .probe('default', { canaries: createCanaries(), token })
      .finally(() => over.abort())

    const lines = new Set<string>()
    while (!over.signal.aborted) {
      for (const line of commandLines()) lines.add(line)
      await setTimeout(5)
    }

    expect(await probing).toMatchObject({ ok: true })
    expect([...lines].filter((line) => line.includes('bwrap'))).not.toEqual([])
    expect([...lines].filter((line) => line.includes(secret))).toEqual([])
  })

  it('fails where the policy is not applied', async () => {
    const { probe } = await startProbe(bundleClaims(), (canaries) => ({
      decide: (decide) => withoutPolicy(canaries.decide(decide)),
    }))

    expect(await probe()).toMatchObject({ ok: false, detail: 'a denied connection was carried' })
  })

  it('fails where an allowed connection is denied', async () => {
    const { probe } = await startProbe(bundleClaims(), () => ({ decide: (decide) => decide }))

    expect(await probe()).toMatchObject({
      ok: false,
      detail: 'an allowed connection was not carried',
    })
  })
})
