import { describe, expect, it } from 'vitest'
import { ask, DIALECTS, expectUntouched, startAttack } from '../fixture/attack-scene.ts'

describe('a port', () => {
  it.each(['0', '65536', '-1', '+443', '0443', '443 ', '', '4 43', '0x1bb', '443.'])(
    'case 30: `%s` is refused before any rule is read',
    async (port) => {
      const scene = await startAttack()
      for (const dialect of ['http', 'connect'] as const)
        expect(await ask(scene, dialect, 'x.allowed.test', port)).toBe('malformed')
      // In SOCKS5 a port has two bytes, so 0 is the only invalid one.
      expect(await ask(scene, 'socks5', 'x.allowed.test', 0)).toBe('malformed')
      expectUntouched(scene)
      expect(scene.decisions).toEqual([])
    },
  )

  it.each(DIALECTS)('case 31: other than that of the rule is denied in %s', async (dialect) => {
    const scene = await startAttack()
    for (const port of [22, 80, 8443]) {
      expect(await ask(scene, dialect, 'allowed.test', port)).toBe('denied')
      expect(await ask(scene, dialect, '198.51.100.1', port)).toBe('denied')
    }
    expectUntouched(scene)
  })

  it.each(DIALECTS)('case 32: allowed for UDP alone is denied for TCP in %s', async (dialect) => {
    const scene = await startAttack({
      rules: [['allow', 'connect:udp', '**.allowed.test:443', '198.51.100.0/24']],
    })
    expect(await ask(scene, dialect, 'x.allowed.test')).toBe('denied')
    expect(await ask(scene, dialect, '198.51.100.1')).toBe('denied')
    expectUntouched(scene)
  })
})
