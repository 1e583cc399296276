import { describe, expect, it } from 'vitest'
import {
  boundAddress,
  listeningOrigin,
  reachableOrigin,
  type ListenSettings,
} from '../../../server/src/http/listening-address.ts'

const SETTINGS: ListenSettings = { host: 'localhost', port: 0, scheme: 'https' }
const listener = (address: string) => ({ address: () => ({ address, port: 8420, family: 'IPv4' }) })
const unbound = { address: () => null }

describe('the address of a listener', () => {
  it('is the configured one before it listens', () => {
    expect(boundAddress(unbound, SETTINGS)).toEqual({ address: 'localhost', port: 0 })
  })

  it('names the configured host with the bound port', () => {
    expect(listeningOrigin(listener('127.0.0.1'), SETTINGS)).toBe('https://localhost:8420')
    expect(reachableOrigin(listener('127.0.0.1'), SETTINGS)).toBe('https://localhost:8420')
  })

  it('is refused to machines when it stands for every address', () => {
    expect(listeningOrigin(listener('0.0.0.0'), SETTINGS)).toBe('https://0.0.0.0:8420')
    expect(() => reachableOrigin(listener('0.0.0.0'), SETTINGS)).toThrow('`PALISADE_PUBLIC_URL`')
  })
})
