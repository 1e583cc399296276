import { describe, expect, it } from 'vitest'
import { createKnownDevices } from '../../../server/src/distribution/known-devices.ts'

const device = (deviceId: string) => ({
  deviceId,
  generation: 1,
  fromMs: 0,
  untilMs: 1,
  version: '1@0',
  etag: '"e"',
})

describe('the known devices', () => {
  it('are found by the hash of their token until they are dropped', () => {
    const devices = createKnownDevices()
    devices.keep('h1', device('d1'))

    expect(devices.find('h1')).toEqual(device('d1'))
    expect(devices.find('h2')).toBeNull()
    devices.drop('h1')
    expect(devices.find('h1')).toBeNull()
  })

  it('are so many at most, those admitted longest ago dropped first', () => {
    const devices = createKnownDevices(2)
    devices.keep('h1', device('d1'))
    devices.keep('h2', device('d2'))
    devices.keep('h1', device('d1'))

    devices.keep('h3', device('d3'))

    expect(['h1', 'h2', 'h3'].filter((hash) => devices.find(hash) !== null)).toEqual(['h1', 'h3'])
  })
})
