import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import {
  readMachineAddresses,
  watchMachineAddresses,
} from '../../../../agent/src/policy/decision/machine-addresses.ts'
import { AgentError } from '../../../../agent/src/host/errors.ts'

/** The error of Node when the process has no free descriptor. */
const noDescriptor = (): never => {
  throw new Error(
    'A system error occurred: uv_interface_addresses returned Unknown system error 24',
  )
}

describe('the addresses of the machine', () => {
  const watch = (read: () => readonly string[]) => {
    const scene = { nowMs: 0, reads: 0, errors: [] as unknown[], read }
    const addresses = watchMachineAddresses({
      read: () => {
        scene.reads += 1
        return scene.read()
      },
      uptime: () => scene.nowMs,
      onError: (error) => scene.errors.push(error),
    })
    return { scene, addresses }
  }

  it('are read again after 100 ms, and not before', () => {
    const { scene, addresses } = watch(() => ['192.0.2.1'])
    scene.read = () => ['192.0.2.1', '192.0.2.2']

    scene.nowMs = 99
    expect(addresses()).toEqual(['192.0.2.1'])
    expect(scene.reads).toBe(1)
    scene.nowMs = 100
    expect(addresses()).toEqual(['192.0.2.1', '192.0.2.2'])
    expect(scene.reads).toBe(2)
  })

  it('stay as known while a read fails, which is reported once', () => {
    const { scene, addresses } = watch(() => ['192.0.2.1'])

    for (scene.nowMs = 100; scene.nowMs < 500; scene.nowMs += 100) {
      scene.read = noDescriptor
      expect(addresses()).toEqual(['192.0.2.1'])
    }
    expect(scene.errors).toHaveLength(1)

    scene.read = () => ['192.0.2.2']
    expect(addresses()).toEqual(['192.0.2.2'])
    scene.nowMs += 100
    scene.read = noDescriptor
    expect(addresses()).toEqual(['192.0.2.2'])
    expect(scene.errors).toHaveLength(2)
  })

  it('must be known before the first decision', () => {
    expect(() => watch(noDescriptor)).toThrow(AgentError)
    expect(() => watch(noDescriptor)).toThrow('the addresses of this machine cannot be read')
  })

  it('are those of all interfaces except loopback', () => {
    const own = Object.values(networkInterfaces())
      .flatMap((entries) => entries ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')

    expect(readMachineAddresses()).toEqual(
      expect.arrayContaining(own.map(({ address }) => address)),
    )
    expect(readMachineAddresses()).not.toContain('127.0.0.1')
  })
})
