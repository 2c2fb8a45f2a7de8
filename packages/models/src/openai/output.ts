import type { ModelError, ModelPart } from '@koagent/core'
import { isObject, textIn } from '../values.ts'
import { OutputItem } from './output-item.ts'

type Fields = Record<string, unknown>

/** Where an event says that it belongs. */
interface Place {
  readonly type: string
  readonly index: number | undefined
  readonly id: string
  readonly callId: string
}

/**
 * The items of one response, whatever its events leave out. An event is matched by its output index, then by the ids; some servers give
 * an item another id in each event (BerriAI/litellm#30072), others one index to several items, no index, or no event but the last.
 */
export class Output {
  readonly #items: OutputItem[] = []
  readonly #fail: (what: string) => ModelError
  /** The item whose parts go out. Those after it wait, so that each block comes in one piece. */
  #head = 0

  constructor(fail: (what: string) => ModelError) {
    this.#fail = fail
  }

  /** The beginning of an item. */
  add(item: unknown, outputIndex: unknown): void {
    if (!isItem(item)) return
    const place = placeOf(item, outputIndex)
    const known = this.#find(place)
    const begun = known && (known.ended ? isSame(known, place) : !known.announced) ? known : this.#begin(place)
    begun.announced = true
    begun.fields = { ...begun.fields, ...item }
  }

  /** The item that a delta goes to: none once it has ended. */
  itemFor(type: string, { output_index: outputIndex, item_id: id }: Fields): OutputItem {
    const place = placeOf({ type, id }, outputIndex)
    return this.#find(place) ?? this.#begin(place)
  }

  /** The end of an item. */
  end(item: unknown, outputIndex: unknown): void {
    if (!isItem(item)) return
    const place = placeOf(item, outputIndex)
    ;(this.#find(place) ?? this.#begin(place)).end(item)
  }

  /** The end of all items, with the response's own list of them, which may hold any of them or none. */
  endAll(list: unknown): void {
    const free = new Set(this.#items)
    const unknown: Fields[] = []
    const claim = (item: Fields, known: OutputItem | undefined): void => {
      if (known) free.delete(known)
      else unknown.push(item)
      known?.end(item)
    }
    const items = Array.isArray(list) ? list.filter(isItem) : []
    items.forEach((item, index) => {
      const place = placeOf(item, index)
      const alike = [...free].filter((known) => fits(known, place))
      claim(item, alike.find((known) => known.index === index) ?? alike.find((known) => isSame(known, place)))
    })
    for (const item of unknown.splice(0)) {
      const place = placeOf(item, undefined)
      claim(item, [...free].find((known) => fits(known, place)) ?? this.#begin(place))
    }
    for (const item of this.#items) item.end()
  }

  /** The parts that may go out. */
  *take(): Generator<ModelPart> {
    for (; this.#head < this.#items.length; this.#head++) {
      const item = this.#items[this.#head]
      yield* item?.take() ?? []
      if (!item?.ended) return
    }
  }

  #begin({ type, index, id, callId }: Place): OutputItem {
    const item = new OutputItem(type, index, this.#fail)
    item.fields = { ...(id && { id }), ...(callId && { call_id: callId }) }
    this.#items.push(item)
    return item
  }

  #find(place: Place): OutputItem | undefined {
    const alike = this.#items.filter((item) => fits(item, place))
    const { index } = place
    if (index === undefined) return alike.find((item) => isSame(item, place)) ?? alike.findLast((item) => !item.ended)
    return alike.findLast((item) => item.index === index) ?? alike.find((item) => item.index === undefined && !item.ended)
  }
}

function isItem(value: unknown): value is Fields {
  return isObject(value) && textIn(value['type']) !== ''
}

function placeOf({ type, id, call_id: callId }: Fields, index: unknown): Place {
  return {
    type: textIn(type),
    index: typeof index === 'number' && Number.isInteger(index) ? index : undefined,
    id: textIn(id),
    callId: textIn(callId),
  }
}

function fits({ type, fields }: OutputItem, place: Place): boolean {
  const callId = textIn(fields['call_id'])
  return type === place.type && (callId === '' || place.callId === '' || callId === place.callId)
}

function isSame({ fields }: OutputItem, { id, callId }: Place): boolean {
  return (callId !== '' && fields['call_id'] === callId) || (id !== '' && fields['id'] === id)
}
