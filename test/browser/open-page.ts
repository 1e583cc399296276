import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The part of a page that tests use. */
export interface BrowserPage {
  /** Runs a script in the page. */
  run(script: string): Promise<void>
  /** The value of an expression in the page, which must be JSON. */
  evaluate(expression: string): Promise<unknown>
  close(): Promise<void>
}

/** This folder has an installation of its own, which only tests need; see its workspace file. */
const require = createRequire(import.meta.url)
const PACKED = new URL('node_modules/@sparticuz/chromium/', import.meta.url)

interface Playwright {
  readonly chromium: {
    launch(options: object): Promise<{
      newPage(): Promise<{
        addScriptTag(script: { readonly content: string }): Promise<unknown>
        evaluate(expression: string): Promise<unknown>
      }>
      close(): Promise<void>
    }>
  }
}

interface PackedChromium {
  readonly default: { readonly args: readonly string[]; executablePath(): Promise<string> }
  inflate(archive: string): Promise<string>
}

/** Opens an empty page of a real Chromium: the packed one on x64, otherwise the system's. */
export async function openPage(): Promise<BrowserPage> {
  const folder = await mkdtemp(join(tmpdir(), 'palisade-chromium-'))
  const { chromium } = require('playwright-core') as Playwright
  const browser = await chromium.launch(
    process.arch === 'x64' ? await unpack(folder) : { executablePath: '/usr/bin/chromium' },
  )
  const page = await browser.newPage()
  return {
    async run(script) {
      await page.addScriptTag({ content: script })
    },
    evaluate: (expression) => page.evaluate(expression),
    async close() {
      await browser.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Unpacks Chromium into `folder`. The package reads the directory from `TMPDIR`, so that is set
 * meanwhile.
 */
async function unpack(folder: string): Promise<object> {
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
