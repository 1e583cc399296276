import { expect, it } from 'vitest'
import { describeRequests } from '../../../bench/src/sandbox/measure-requests.ts'

it('divides the processor time of a request by that of the plain proxy in the same round', () => {
  const readings = (opened: number, kept: number) =>
    [1, 2, 10].map((factor) => ({ opened: opened * factor, kept: kept * factor }))

  const { proxied, plain } = describeRequests({
    plain: readings(100, 10),
    proxied: readings(150, 11),
  })

  expect(proxied).toEqual({
    'new connection, CPU us': { median: 300, low: 150, high: 1500 },
    'new connection, x plain': { median: 1.5, low: 1.5, high: 1.5 },
    'request, CPU us': { median: 22, low: 11, high: 110 },
    'request, x plain': { median: 1.1, low: 1.1, high: 1.1 },
  })
  expect(plain?.['request, x plain']?.median).toBe(1)
})
