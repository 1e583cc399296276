import { describe, expect, it } from 'vitest'
import { NAMES, openTunnelTo, RULES, startAttack } from '../fixture/attack-scene.ts'
import { bundleOf } from '../fixture/bundle.ts'
import { clientHello } from '../fixture/client-hello.ts'
import { exchangeRaw, get, startProxy } from '../fixture/proxy.ts'

describe('case 105: text of a program in records', () => {
  it('case 105: has no control characters and a bounded length', async () => {
    const scene = await startProxy(bundleOf(...RULES), NAMES)
    const long = 'x'.repeat(8_000)
    const answers = [
      await exchangeRaw(scene.port, get('evil.test:443', `/\u001b[2J${long}?q=secret`)),
      await exchangeRaw(scene.port, get('evil.test:443', `/${long}`, 'X: \u00e4\r\n')),
    ]
    expect(answers.map(({ status }) => status)).toEqual([400, 403])
    const tunnels = await startAttack()
    for (const name of ['x\n{"seq":1}', '\u001b[2J', 'x'.repeat(8_000)]) {
      const tunnel = await openTunnelTo(tunnels, 'x.allowed.test')
      tunnel.socket.write(clientHello({ serverName: name }))
      await tunnel.rest()
    }
    await expect.poll(() => tunnels.ends.length).toBe(3)
    const recorded = [...scene.decisions, ...tunnels.ends.map(({ decision }) => decision)]
    expect(recorded).toHaveLength(4)
    for (const decision of recorded) {
      const text = JSON.stringify(decision)
      expect(text).toMatch(/^[ -~]{1,1000}$/)
      expect(text).not.toContain('secret')
    }
  })
})
