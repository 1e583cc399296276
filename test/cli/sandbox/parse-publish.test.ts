import { describe, expect, it } from 'vitest'
import { parsePublish } from '../../../packages/cli/src/sandbox/parse-publish.ts'

describe('a published port', () => {
  it('is the same on both sides, or has one of the machine before the colon', () => {
    expect(parsePublish(['8000', '3000:80', '65535:1'])).toEqual({
      kind: 'read',
      ports: [
        { host_port: 8000, port: 8000 },
        { host_port: 3000, port: 80 },
        { host_port: 65535, port: 1 },
      ],
    })
  })

  it.each([
    ['', '`--publish ` is no port; write it like `8000` or `3000:8000`'],
    ['0', '`--publish 0` is no port; write it like `8000` or `3000:8000`'],
    ['65536', '`--publish 65536` is no port; write it like `8000` or `3000:8000`'],
    ['08000', '`--publish 08000` is no port; write it like `8000` or `3000:8000`'],
    ['8000:', '`--publish 8000:` is no port; write it like `8000` or `3000:8000`'],
    [':8000', '`--publish :8000` is no port; write it like `8000` or `3000:8000`'],
    ['8000/udp', '`--publish 8000/udp` is no port; write it like `8000` or `3000:8000`'],
    ['80', '`--publish 80`: port 80 of the machine is reserved; write `8080:80`'],
    [
      '0.0.0.0:8000:8000',
      '`--publish 0.0.0.0:8000:8000` has an address; a port is published on the loopback of the ' +
        'machine alone, so write `HOST_PORT:PORT`',
    ],
    [
      '[::]:8000',
      '`--publish [::]:8000` has an address; a port is published on the loopback of the machine ' +
        'alone, so write `HOST_PORT:PORT`',
    ],
  ])('is refused as %j', (text, problem) => {
    expect(parsePublish([text])).toEqual({ kind: 'invalid', problems: [problem] })
  })

  it('is given once', () => {
    expect(parsePublish(['8000:1', '8000:2'])).toEqual({
      kind: 'invalid',
      problems: ['`--publish 8000:2`: port 8000 of the machine is given twice'],
    })
  })
})
