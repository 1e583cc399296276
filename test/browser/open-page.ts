import { mkdtemp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeDirectory } from '../remove-directory.ts'

/** The part of a page that tests use. */
export interface BrowserPage {
  /** Runs a script in the page. */
  run(script: string): Promise<void>
  /** The value of an expression in the page, which must be JSON. */
  evaluate(expression: string): Promise<unknown>
  /** Opens an address. Rejects with the text of the browser's own error page. */
  visit(url: string): Promise<{ readonly status: number; readonly text: string }>
  close(): Promise<void>
}

/** This folder has an installation of its own, which only tests need; see its workspace file. */
const require = createRequire(import.meta.url)
const PACKED = new URL('node_modules/@sparticuz/chromium/', import.meta.url)

/** Only ends what hangs. */
const NAVIGATION_TIMEOUT_MS = 300_000

interface Playwright {
  readonly chromium: {
    launch(options: object): Promise<{
      newPage(): Promise<{
        addScriptTag(script: { readonly content: string }): Promise<unknown>
        evaluate(expression: string): Promise<unknown>
        goto(url: string, options: object): Promise<{ status(): number } | null>
        innerText(selector: string): Promise<string>
      }>
      close(): Promise<void>
    }>
  }
}

interface Installed {
  readonly executablePath: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

interface PackedChromium {
  readonly default: { readonly args: readonly string[]; executablePath(): Promise<string> }
  inflate(archive: string): Promise<string>
}

/**
 * Opens an empty page of a real Chromium: the packed one on x64, otherwise the system's. `switches`
 * follow its own ones on the command line.
 */
export async function openPage(switches: readonly string[] = []): Promise<BrowserPage> {
  const folder = await mkdtemp(join(tmpdir(), 'palisade-chromium-'))
  const { chromium } = require('playwright-core') as Playwright
  const { args, ...installed } =
    process.arch === 'x64'
      ? await unpack(folder)
      : { executablePath: '/usr/bin/chromium', args: [] }
  const browser = await chromium.launch({ ...installed, args: [...args, ...switches] })
  const page = await browser.newPage()
  return {
    async run(script) {
      await page.addScriptTag({ content: script })
    },
    evaluate: (expression) => page.evaluate(expression),
    async visit(url) {
      const response = await page.goto(url, { timeout: NAVIGATION_TIMEOUT_MS })
      return { status: response?.status() ?? 0, text: await page.innerText('body') }
    },
    async close() {
      await browser.close()
      removeDirectory(folder)
    },
  }
}

/**
 * Unpacks Chromium into `folder`. The package reads the directory from `TMPDIR`, so that is set
 * meanwhile.
 */
async function unpack(folder: string): Promise<Installed> {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  try {
    const { default: packed, inflate } = (await import(
      new URL('build/index.js', PACKED).href
    )) as PackedChromium
    const executablePath = await packed.executablePath()
    // Libraries that a server without a desktop lacks.
    await inflate(fileURLToPath(new URL('bin/al2023.tar.br', PACKED)))
    const env = { ...process.env, LD_LIBRARY_PATH: join(folder, 'al2023/lib') }
    return { executablePath, args: packed.args, env }
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}
