import { expect, it } from 'vitest'
import { summarizeRequests } from '../../../../bench/src/sandbox/cases/requests.ts'

const round = (factor: number) => ({
  plain: { opened: 100 * factor, kept: 10 * factor },
  proxied: { opened: 110 * factor, kept: 11 * factor },
  captured: { opened: 90 * factor, kept: 10 * factor },
  looked_up: { opened: 150 * factor, kept: 10 * factor },
})

it('divides the processor time of a request by that of the plain proxy in the same round', () => {
  const { ways, rounds } = summarizeRequests([round(1), round(2), round(10)])

  expect(rounds).toBe(3)
  expect(ways.proxied.opened_ratio).toEqual({ median: 1.1, least: 1.1, most: 1.1 })
  expect(ways.proxied.kept_ratio.median).toBe(1.1)
  expect(ways.captured.opened_ratio.median).toBe(0.9)
  expect(ways.looked_up.opened_ratio.median).toBe(1.5)
  expect(ways.plain.kept_ratio.median).toBe(1)
  expect(ways.proxied.opened_cpu_us).toEqual({ median: 220, least: 110, most: 1100 })
})
