// The one place that names the vendored file.
export {
  html,
  render,
  createContext,
  useState,
  useReducer,
  useEffect,
  useLayoutEffect,
  useRef,
  useMemo,
  useCallback,
  useContext,
  useErrorBoundary,
} from "../vendor/htm-preact-standalone.module.js";
