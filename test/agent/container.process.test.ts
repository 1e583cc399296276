import { createAgentClient } from '@palisade/client'
import { describe, expect, it } from 'vitest'
import { startAgent } from './container-scene.ts'

describe('the container', () => {
  it('reports that a strict sandbox held, once it has tried one', async () => {
    const sent: unknown[] = []

    const socketPath = await startAgent(['allow', 'read', '/one'], [], { sent })

    await expect
      .poll(() => sent, { timeout: 300_000 })
      .toContainEqual([
        '/api/v1/device/report',
        expect.objectContaining({ assurance: 'linux-strict' }),
      ])
    const { probes, assurance } = await createAgentClient({ socketPath }).status()
    expect(probes).toMatchObject({ sandbox: { ok: true }, strict: { ok: true } })
    expect(assurance).toEqual({ class: 'linux-strict', reason: null })
  })
})
