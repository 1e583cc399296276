import { describe, expect, it, onTestFinished } from 'vitest'
import { openPage, type BrowserPage } from '../../browser/open-page.ts'
import { ALLOWED, DENIED, startClientScene, type ClientScene } from './client-scene.ts'

/** A Chromium whose profile is empty, so it asks for pages of its own, too. */
async function openBrowser({ proxyUrl }: ClientScene): Promise<BrowserPage> {
  const page = await openPage([`--proxy-server=${proxyUrl}`, '--ignore-certificate-errors'])
  onTestFinished(() => page.close())
  return page
}

describe('Chromium with --proxy-server', () => {
  it('shows pages of an allowed host, over HTTP and HTTPS', async () => {
    const scene = await startClientScene()
    const page = await openBrowser(scene)

    const plain = await page.visit(`http://${ALLOWED}:${scene.ports.http}/`)
    const secure = await page.visit(`https://${ALLOWED}:${scene.ports.https}/`)

    expect(plain).toEqual({ status: 200, text: 'reached' })
    expect(secure).toEqual({ status: 200, text: 'reached' })
    expect(new Set(scene.proxy.resolved)).toEqual(new Set([ALLOWED]))
  })

  it('shows the page of the proxy for a denied host', async () => {
    const scene = await startClientScene()
    const page = await openBrowser(scene)

    const { status, text } = await page.visit(`http://${DENIED}:${scene.ports.http}/`)
    const title = await page.evaluate('document.title')

    const authority = `${DENIED}:${scene.ports.http}`
    expect({ status, title }).toEqual({ status: 403, title: 'Denied by Palisade' })
    expect(text).toContain(`${authority} denied, no rule allows it.`)
    expect(text).toContain(`Rule that an editor can add\nallow connect:tcp ${authority}`)
    expect(scene.proxy.dialled).toEqual([])
  })

  it('shows its own error for a denied tunnel', async () => {
    const scene = await startClientScene()
    const page = await openBrowser(scene)

    const visit = page.visit(`https://${DENIED}:${scene.ports.https}/`)

    await expect(visit).rejects.toThrow('net::ERR_TUNNEL_CONNECTION_FAILED')
    expect(scene.proxy.dialled).toEqual([])
  })
})
