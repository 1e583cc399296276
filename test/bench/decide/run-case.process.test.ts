import { describe, expect, it } from 'vitest'
import type { Case } from '../../../bench/src/decide/case.ts'
import { runCase } from '../../../bench/src/decide/run-case.ts'

const COMPILE: Case = { kind: 'compile', domain: 'hosts', size: 20, budgetMs: 10 }

describe('runCase', () => {
  it('measures each kind of case in its own process', async () => {
    const cases: Case[] = [
      COMPILE,
      {
        kind: 'decide',
        domain: 'addresses',
        size: 20,
        mix: 'hostile',
        peers: false,
        budgetMs: 10,
      },
      { kind: 'connect', size: 20, budgetMs: 10 },
      { kind: 'first compile', domain: 'hosts', size: 20 },
    ]

    for (const each of cases) {
      const { rows, left_out } = await runCase(each, 20_000)
      expect(left_out).toEqual([])
      expect(Object.keys(rows).length).toBeGreaterThanOrEqual(2)
      for (const row of Object.values(rows))
        for (const { median } of Object.values(row)) expect(median).toBeGreaterThan(0)
    }
  })

  it('times a first decision in milliseconds, without a baseline', async () => {
    const each: Case = { kind: 'first decision', input: '24 ** against 400 segments' }

    const { rows } = await runCase(each, 20_000)

    expect(Object.keys(rows)).toEqual(['palisade decide'])
    expect(rows['palisade decide']?.['ms']?.median).toBeGreaterThan(0)
  })

  it('rejects, naming the case, when it exceeds its time', async () => {
    await expect(runCase(COMPILE, 1)).rejects.toThrow('case `compile hosts 20` failed')
  })

  it('rejects, naming the case, when the process fails', async () => {
    const impossible: Case = { kind: 'compile', domain: 'hosts', size: -1, budgetMs: 10 }
    const unknown = { ...impossible, domain: 'nowhere' } as unknown as Case

    await expect(runCase(unknown, 20_000)).rejects.toThrow('case `compile nowhere -1` failed')
  })
})
