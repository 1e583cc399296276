import { describe, expect, it } from 'vitest'
import type { Case } from '../../../bench/src/case.ts'
import { runCase } from '../../../bench/src/cases/run-case.ts'

const COMPILE: Case = { kind: 'compile', domain: 'hosts', size: 20, budgetMs: 10 }

describe('runCase', () => {
  it('measures each kind of case in its own process', async () => {
    const cases: Case[] = [
      COMPILE,
      { kind: 'explain', domain: 'paths', size: 20, budgetMs: 10 },
      {
        kind: 'decide',
        domain: 'addresses',
        size: 20,
        mix: 'hostile',
        strings: 'warm',
        peers: false,
        budgetMs: 10,
      },
      { kind: 'kinds', domain: 'paths', size: 20, budgetMs: 10 },
      { kind: 'connect', form: 'name and address', size: 20, budgetMs: 10 },
      { kind: 'connect', form: 'ports', size: 20, budgetMs: 10 },
      { kind: 'first compile', domain: 'hosts', size: 20 },
      { kind: 'organization', call: 'decide', policies: 10, rulesPerPolicy: 4, budgetMs: 10 },
    ]

    for (const each of cases) {
      const result = await runCase(each, 20_000.5)
      expect(result?.case).toEqual(each)
      expect(result?.left_out).toEqual([])
      expect(result?.figures.length).toBeGreaterThanOrEqual(2)
      for (const { value, ratio } of result?.figures ?? []) {
        expect(value).toBeGreaterThan(0)
        expect(ratio).toBeGreaterThan(0)
      }
    }
  })

  it('times a first decision in milliseconds, without a baseline', async () => {
    const each: Case = { kind: 'first decision', input: '24 ** against 400 segments' }

    const result = await runCase(each, 20_000)

    expect(result?.figures).toHaveLength(1)
    expect(result?.figures[0]).toMatchObject({ unit: 'ms, first', ratio: null })
    expect(result?.figures[0]?.value).toBeGreaterThan(0)
  })

  it('stops a case that exceeds its time', async () => {
    expect(await runCase(COMPILE, 1)).toBeNull()
  })

  it('rejects, naming the case, when the process fails', async () => {
    const impossible: Case = { kind: 'compile', domain: 'hosts', size: -1, budgetMs: 10 }
    const unknown = { ...impossible, domain: 'nowhere' } as unknown as Case

    await expect(runCase(unknown, 20_000)).rejects.toThrow('case `compile nowhere -1` failed')
  })
})
