import type { LogOptions } from '@palisade/client'
import type { RecordLine } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import {
  findDenialsAfter,
  findLastDenial,
  findNewestPosition,
} from '../../../packages/cli/src/agent/denials.ts'
import { DENIAL, FLOW, LOSS } from '../machine/log-records.ts'

/** A log that answers as the agent does. */
function logOf(...lines: readonly RecordLine[]) {
  return {
    async *log({ limit = 1_000, denied = false, questions = true }: LogOptions = {}) {
      const wanted = lines.filter((line) => {
        if (!('decision' in line)) return !denied
        if (!questions && line.point === 'local_api') return false
        return !denied || line.decision.decision === 'deny'
      })
      yield* wanted.slice(-limit)
    },
  }
}

const question = { ...DENIAL, seq: 9, point: 'local_api', protocol: 'decide' } as const

describe('the denials of a machine', () => {
  it('end with the last one, also where a sum of an earlier line ends later', async () => {
    const sum = { ...DENIAL, seq: 5, until: '2026-11-21T11:59:00.000Z', count: 3 }
    const between = { ...DENIAL, seq: 6, time: '2026-11-21T11:58:00.000Z' }

    expect(await findLastDenial(logOf(DENIAL, sum, between))).toEqual(sum)
    expect(await findLastDenial(logOf(DENIAL, between))).toEqual(between)
  })

  it('have no questions, which denied nothing', async () => {
    expect(await findLastDenial(logOf(DENIAL, question))).toEqual(DENIAL)
    expect(await findLastDenial(logOf(question))).toBeNull()
    expect(await findDenialsAfter(logOf(question), null)).toEqual([])
  })

  it('after a place are those of later lines', async () => {
    const later = { ...DENIAL, seq: 7 }
    const place = await findNewestPosition(logOf(DENIAL, FLOW, LOSS))

    expect(place).toMatchObject({ boot: 'boot-1', seq: 6 })
    expect(await findDenialsAfter(logOf(DENIAL, FLOW, LOSS, later), place)).toEqual([later])
    expect(await findDenialsAfter(logOf(DENIAL, FLOW, LOSS), place)).toEqual([])
    expect(await findDenialsAfter(logOf(DENIAL, later), null)).toEqual([DENIAL, later])
  })

  it('after a place are all of an agent that was started since', async () => {
    const first = { ...DENIAL, seq: 1, boot: 'boot-2' }

    expect(await findDenialsAfter(logOf(DENIAL, first), DENIAL)).toEqual([first])
  })
})
